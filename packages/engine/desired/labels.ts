import { parseDuration, printDuration } from '@eph/contract';
import { printNames } from './printed-names.ts';

/** What people ask of an environment with labels of one family, such as `preview:pause`, besides that it be there. */
export interface LabelRequests {
  readonly paused: boolean;
  readonly kept: boolean;
  /** Absent where no label names a time. */
  readonly ttlSeconds?: number;
  /** Labels that look like wishes and are none, change nothing or contradict each other: each a sentence for whoever put them there. */
  readonly notes: readonly string[];
}

/** As in `environment.ttl` of `eph.yaml`. */
const maxTtlSeconds = 365 * 86_400;
const maxTtlLength = 40;

/** Labels of other families, and the family's own name, which is a trigger, say nothing here. Their order never matters. */
export const readLabelRequests = (labels: readonly string[], prefix = 'preview'): LabelRequests => {
  const start = `${prefix}:`;
  const words = new Set(labels.filter((label) => label.startsWith(start)).map((label) => label.slice(start.length)));
  const times: { readonly word: string; readonly seconds: number }[] = [];
  const invalid: string[] = [];
  for (const word of [...words].toSorted()) {
    if (word === 'pause' || word === 'keep' || word === 'public') continue;
    const seconds = parseTtl(word);
    if (seconds === undefined) invalid.push(start + word);
    else times.push({ word, seconds });
  }
  // Of several times the longest: nobody loses an environment early because of somebody else's label.
  const longest = times.toSorted((a, b) => b.seconds - a.seconds)[0];
  const notes: string[] = [];
  if (invalid.length > 0)
    notes.push(
      `${printNames(invalid)}: after ${start} comes pause, keep, public or a time such as 48h, at most ${printDuration(maxTtlSeconds)}`,
    );
  if (words.has('public')) notes.push(publicNote(start));
  if (longest !== undefined && times.length > 1)
    notes.push(`${printNames(times.map(({ word }) => start + word))}: of several times the longest counts`);
  return {
    paused: words.has('pause'),
    kept: words.has('keep'),
    ...(longest === undefined ? {} : { ttlSeconds: longest.seconds }),
    notes,
  };
};

const publicNote = (start: string): string =>
  `${start}public changes nothing so far: environments are open to everybody who can reach them`;

const parseTtl = (text: string): number | undefined => {
  const seconds = text.length > maxTtlLength ? undefined : parseDuration(text);
  return seconds === undefined || seconds <= 0 || seconds > maxTtlSeconds ? undefined : seconds;
};
