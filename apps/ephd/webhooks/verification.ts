import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** Whether a body comes from somebody who knows a secret. */
export type Verify = (body: Uint8Array) => boolean;

/** Makes a proof of what a header claims; undefined when that proves no body at all, so that none needs to be read. */
export type CreateVerify = (header: string | undefined, secrets: readonly string[]) => Verify | undefined;

/** The header carries an HMAC-SHA256 of the body in hexadecimal digits, after this beginning. */
export const verifySignature =
  (beginning: string): CreateVerify =>
  (header, secrets) => {
    if (header === undefined || !header.startsWith(beginning)) return undefined;
    const digits = header.slice(beginning.length);
    if (!/^[0-9a-f]{64}$/i.test(digits)) return undefined;
    const claimed = Buffer.from(digits, 'hex');
    return (body) =>
      isOneOf(
        claimed,
        secrets.map((secret) => createHmac('sha256', secret).update(body).digest()),
      );
  };

/** The header carries the secret itself. */
export const verifyToken: CreateVerify = (header, secrets) => {
  if (header === undefined) return undefined;
  // Node reads the bytes of a header as Latin-1, whatever they were.
  const claimed = digest(Buffer.from(header, 'latin1'));
  const known = secrets.map((secret) => digest(Buffer.from(secret, 'utf8')));
  return isOneOf(claimed, known) ? () => true : undefined;
};

/** Digests have one length, whatever they are of; a comparison of what they are of would give away its length. */
const digest = (bytes: Uint8Array): Uint8Array => createHash('sha256').update(bytes).digest();

/** In the same time whether it is the first, the last or none of them, and wherever it differs. */
const isOneOf = (claimed: Uint8Array, known: readonly Uint8Array[]): boolean =>
  known.reduce((found, one) => timingSafeEqual(claimed, one) || found, false);
