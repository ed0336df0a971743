import { z } from 'zod';

/** So that people, and programs that look for secrets, can see what it is. */
export const tokenPrefix = 'eph_';

/** By which a token is revoked. It is no secret. */
export const tokenId = z.string().regex(/^[\w-]{22}$/, 'must be the id of a token, which has 22 characters');
