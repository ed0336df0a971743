import type { IncomingMessage } from 'node:http';

export interface Body {
  readonly type: string;
  readonly bytes: Uint8Array;
}

export type Method = 'GET' | 'POST' | 'DELETE';

export interface Exchange {
  readonly url: URL;
  readonly method: Method;
  readonly accept: string;
  readonly body?: Body | undefined;
  /** How long the head of the answer may take. The body is the business of whoever reads it. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Sends one request and waits for the head of the answer. Not `fetch`: that gives up on a stream that has been silent for five
 * minutes, as logs of a quiet service are.
 */
export const send = async ({ url, method, accept, body, timeoutMs, signal }: Exchange): Promise<IncomingMessage> => {
  const { request } = url.protocol === 'https:' ? await import('node:https') : await import('node:http');
  return new Promise((resolve, reject) => {
    // No agent: a connection that is kept may be closed by the other side just as the next request is sent on it.
    const headers = {
      accept,
      ...(body === undefined ? {} : { 'content-type': body.type, 'content-length': body.bytes.byteLength }),
    };
    const outgoing = request(url, { method, agent: false, headers, ...(signal === undefined ? {} : { signal }) });
    const timer = setTimeout(() => outgoing.destroy(new AnswerTimeout(timeoutMs)), timeoutMs);
    outgoing.once('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    outgoing.once('response', (response) => {
      clearTimeout(timer);
      response.setEncoding('utf8');
      resolve(response);
    });
    outgoing.end(body?.bytes);
  });
};

/** The whole body, if it arrives in time. */
export const readBody = async (response: IncomingMessage, timeoutMs: number): Promise<string> => {
  const timer = setTimeout(() => response.destroy(new AnswerTimeout(timeoutMs)), timeoutMs);
  try {
    let body = '';
    for await (const chunk of response) body += String(chunk);
    return body;
  } finally {
    clearTimeout(timer);
  }
};

export class AnswerTimeout extends Error {
  constructor(timeoutMs: number) {
    super(`there was no answer within ${timeoutMs / 1_000} s`);
    this.name = 'AnswerTimeout';
  }
}
