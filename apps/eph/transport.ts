import type { IncomingMessage } from 'node:http';
import type { Method } from '@eph/contract';

export interface Body {
  readonly type: string;
  readonly bytes: Uint8Array;
}

export interface Exchange {
  readonly url: URL;
  readonly method: Method;
  readonly accept: string;
  readonly token: string | undefined;
  readonly body?: Body | undefined;
  /** Until the head of the answer; the body is not included. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Sends one request and waits for the head of the answer. A redirect is an answer: followed, it would take the token along.
 * Not with `fetch`, which aborts a stream after five minutes of silence, as in logs of a quiet service. Nor with `import`, which
 * reads all that the module exports, and so loads a WebSocket client: a third of the time that `eph list` takes.
 */
export const send = async ({ url, method, accept, token, body, timeoutMs, signal }: Exchange): Promise<IncomingMessage> => {
  const { request } = process.getBuiltinModule(url.protocol === 'https:' ? 'node:https' : 'node:http');
  return new Promise((resolve, reject) => {
    // No agent: the server may close a kept connection just as the next request is sent.
    const headers = {
      accept,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
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
