import { hash } from 'node:crypto';

export const computeEtag = (body: Uint8Array): string => `"${hash('sha1', body, 'base64url')}"`;

/** Whether a client has this already, by its `If-None-Match`. Weak tags count, since RFC 9110 compares without strength there. */
export const isKnown = (etag: string, ifNoneMatch: string | undefined): boolean =>
  ifNoneMatch?.trim() === '*' || ifNoneMatch?.match(/"[^"]*"/g)?.includes(etag) === true;
