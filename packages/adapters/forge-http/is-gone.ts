import { z } from 'zod';
import type { Refusal } from './answer.ts';
import { type ForgeApi, parserOf } from './forge-http.ts';

const parseRepository = parserOf(z.object({ id: z.int() }));

/**
 * Whether a resource does not exist. Forges also answer 404 for everything in a repository that they hide, so it is
 * reliable only if the repository can be read.
 */
export const isGone = async (client: ForgeApi, { meaning }: Refusal, signal: AbortSignal): Promise<boolean> =>
  meaning === 'gone' && (await client.read('', parseRepository, signal)).ok;
