import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { EnvironmentName } from '@eph/contract';
import { prefersHtml } from './accept.ts';
import { type Notice, noticeHeader, noticePagePolicy, renderNoticePage } from './notice-page.ts';
import type { ClosedRoute } from './routes.ts';

/** The same answer for everything unknown, so that nobody can find out what exists. */
export const answerUnknown = (response: ServerResponse): void =>
  answer(response, 404, { 'content-type': 'text/plain; charset=utf-8' }, 'Not found\n');

export const answerMalformed = (response: ServerResponse): void =>
  answer(response, 400, { 'content-type': 'text/plain; charset=utf-8' }, 'Bad request\n');

/** 307 keeps method and body and is not cached: an alias may change its target. */
export const answerMoved = (response: ServerResponse, location: string): void => answer(response, 307, { location }, '');

export const answerClosed = (request: IncomingMessage, response: ServerResponse, route: ClosedRoute): void => {
  const { environment, phase, summary, waitingFor } = route;
  const seconds = phase === 'Failed' || phase === 'Removing' || phase === 'Held' ? 15 : 2;
  answerNotice(request, response, 503, { environment, phase, summary, waitingFor }, seconds);
};

/** For an upstream that failed. The error itself is not shown: network errors name hosts and ports. */
export const answerFailed = (
  request: IncomingMessage,
  response: ServerResponse,
  environment: EnvironmentName,
  status: 502 | 504,
): void => {
  const summary =
    status === 504 ? 'The environment took too long to answer.' : 'The environment did not answer. It may be restarting.';
  answerNotice(request, response, status, { environment, summary, waitingFor: [] }, 5);
};

const answerNotice = (
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  notice: Notice,
  seconds: number,
): void => {
  const headers = { 'retry-after': String(seconds), vary: 'accept', [noticeHeader]: String(status) };
  if (prefersHtml(request.headers.accept)) {
    const html = { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': noticePagePolicy };
    answer(response, status, { ...headers, ...html }, renderNoticePage(notice, seconds));
  } else answer(response, status, { ...headers, 'content-type': 'application/json' }, `${JSON.stringify(notice)}\n`);
};

const answer = (response: ServerResponse, status: number, headers: OutgoingHttpHeaders, body: string): void => {
  response.writeHead(status, {
    ...headers,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-robots-tag': 'noindex',
  });
  response.end(body);
};
