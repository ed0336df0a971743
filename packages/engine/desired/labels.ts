import { parseDuration, printDuration } from '@eph/contract';
import { printNames } from './printed-names.ts';

/** What labels with a common prefix, such as `preview:pause`, ask of an environment. */
export interface LabelRequests {
  readonly paused: boolean;
  readonly kept: boolean;
  /** Absent if no label names a time. */
  readonly ttlSeconds?: number;
  /** Sentences about labels that are invalid, have no effect or contradict each other. */
  readonly notes: readonly string[];
}

const start = 'preview:';

export const keepLabel = `${start}keep`;
export const pauseLabel = `${start}pause`;
export const timeLabel = (time: string): string => `${start}${time}`;
export const isTimeLabel = (label: string): boolean =>
  label.startsWith(start) && parseTtl(label.slice(start.length)) !== undefined;

/** As in `environment.ttl` of `eph.yaml`. */
const maxTtlSeconds = 365 * 86_400;
const maxTtlLength = 40;

/** Labels that begin otherwise are ignored, and so is `preview` itself, which is a trigger. The order does not matter. */
export const readLabelRequests = (labels: readonly string[]): LabelRequests => {
  const words = new Set(labels.filter((label) => label.startsWith(start)).map((label) => label.slice(start.length)));
  const times: { readonly word: string; readonly seconds: number }[] = [];
  const invalid: string[] = [];
  for (const word of [...words].toSorted()) {
    if (word === 'pause' || word === 'keep' || word === 'public') continue;
    const seconds = parseTtl(word);
    if (seconds === undefined) invalid.push(start + word);
    else times.push({ word, seconds });
  }
  // The longest time wins, so that nobody loses an environment early because of somebody else's label.
  const longest = times.toSorted((a, b) => b.seconds - a.seconds)[0];
  const notes: string[] = [];
  if (invalid.length > 0)
    notes.push(
      `${printNames(invalid)}: use ${start}pause, ${start}keep, ${start}public or a time such as ${start}48h, at most ${printDuration(maxTtlSeconds)}`,
    );
  if (words.has('public')) notes.push(publicNote);
  if (longest !== undefined && times.length > 1)
    notes.push(`${printNames(times.map(({ word }) => start + word))}: the longest time applies`);
  return {
    paused: words.has('pause'),
    kept: words.has('keep'),
    ...(longest === undefined ? {} : { ttlSeconds: longest.seconds }),
    notes,
  };
};

const publicNote = `${start}public has no effect yet: environments are open to everybody who can reach them`;

const parseTtl = (text: string): number | undefined => {
  const seconds = text.length > maxTtlLength ? undefined : parseDuration(text);
  return seconds === undefined || seconds <= 0 || seconds > maxTtlSeconds ? undefined : seconds;
};
