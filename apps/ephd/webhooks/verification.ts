import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** Whether the sender of a body knows one of the secrets. */
export type Verify = (body: Uint8Array) => boolean;

/** Undefined when no body could match the header, so that none needs to be read. */
export type CreateVerify = (header: string | undefined, secrets: readonly string[]) => Verify | undefined;

/** The header has this prefix and a hexadecimal HMAC-SHA256 of the body. */
export const verifySignature =
  (prefix: string): CreateVerify =>
  (header, secrets) => {
    if (header === undefined || !header.startsWith(prefix)) return undefined;
    const digits = header.slice(prefix.length);
    if (!/^[0-9a-f]{64}$/i.test(digits)) return undefined;
    const claimed = Buffer.from(digits, 'hex');
    return (body) =>
      isOneOf(
        claimed,
        secrets.map((secret) => createHmac('sha256', secret).update(body).digest()),
      );
  };

export const verifyToken: CreateVerify = (header, secrets) => {
  if (header === undefined) return undefined;
  // Node decodes headers as Latin-1.
  const claimed = digest(Buffer.from(header, 'latin1'));
  const expected = secrets.map((secret) => digest(Buffer.from(secret, 'utf8')));
  return isOneOf(claimed, expected) ? () => true : undefined;
};

/** Digests have equal lengths; comparing the secrets themselves would reveal their length. */
const digest = (bytes: Uint8Array): Uint8Array => createHash('sha256').update(bytes).digest();

/** In constant time, whichever one matches. */
const isOneOf = (claimed: Uint8Array, expected: readonly Uint8Array[]): boolean =>
  expected.reduce((found, one) => timingSafeEqual(claimed, one) || found, false);
