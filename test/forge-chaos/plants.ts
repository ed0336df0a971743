import { completeReading } from '@eph/contract';
import type { Forge } from '@eph/engine/source/forge';

/** A fault planted around the adapter: a run that does not find it proves nothing. */
export type Plant = (forge: Forge) => Forge;

/** Treats a partial list as complete. */
const treatPartialAsComplete: Plant = (forge) => ({
  ...forge,
  sources: async (signal) => completeReading((await forge.sources(signal)).items),
});

/** Treats an outage as a deletion. */
const treatUnknownAsGone: Plant = (forge) => ({
  ...forge,
  source: async (ref, signal) => {
    const answer = await forge.source(ref, signal);
    return answer.state === 'unknown' ? { state: 'gone' } : answer;
  },
});

/** Treats unreadable comments as the absence of commands. */
const treatUnreadAsNoCommands: Plant = (forge) => {
  const { pulls } = forge;
  if (pulls === undefined) return forge;
  const commands: typeof pulls.commands = async (...args) => completeReading((await pulls.commands(...args)).items);
  return { ...forge, pulls: { ...pulls, commands } };
};

export const plants = {
  none: (forge) => forge,
  'truncated-is-complete': treatPartialAsComplete,
  'outage-is-gone': treatUnknownAsGone,
  'outage-is-silence': treatUnreadAsNoCommands,
} as const satisfies { readonly [name: string]: Plant };

export type PlantName = keyof typeof plants;
