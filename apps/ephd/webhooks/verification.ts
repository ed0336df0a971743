import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** Whether the sender of a body knows the secret. */
export type Verify = (body: Uint8Array) => boolean;

/** Undefined when no body could match the header, so that none needs to be read. */
export type CreateVerify = (header: string | undefined, secret: string) => Verify | undefined;

/** The header has this prefix and a hexadecimal HMAC-SHA256 of the body. */
export const verifySignature =
  (prefix: string): CreateVerify =>
  (header, secret) => {
    if (header === undefined || !header.startsWith(prefix)) return undefined;
    const digits = header.slice(prefix.length);
    if (!/^[0-9a-f]{64}$/i.test(digits)) return undefined;
    const claimed = Buffer.from(digits, 'hex');
    return (body) => timingSafeEqual(claimed, createHmac('sha256', secret).update(body).digest());
  };

export const verifyToken: CreateVerify = (header, secret) => {
  if (header === undefined) return undefined;
  // Node decodes headers as Latin-1.
  const isEqual = timingSafeEqual(digest(Buffer.from(header, 'latin1')), digest(Buffer.from(secret, 'utf8')));
  return isEqual ? () => true : undefined;
};

/** Digests have equal lengths; comparing the secrets themselves would reveal their length. */
const digest = (bytes: Uint8Array): Uint8Array => createHash('sha256').update(bytes).digest();
