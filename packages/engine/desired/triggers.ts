import type { Command, CommitSha, Failure, Source, Trigger } from '@eph/contract';
import type { ShortCommand } from './commands.ts';
import type { Answer, Generator, SourceFacts } from './generator.ts';
import { printSource } from './printed-names.ts';

/** The decision of a project's triggers about one source. */
export type TriggerDecision =
  | {
      readonly state: 'wanted';
      readonly because: string;
      readonly checks: readonly string[];
      readonly command?: Command;
      /** The commit that was asked for, if the source has moved on since. */
      readonly at?: CommitSha;
    }
  | { readonly state: 'unwanted'; readonly because: string; readonly short?: ShortCommand }
  | { readonly state: 'unknown'; readonly because: string; readonly fault: Failure };

/** The first trigger that wants the source decides. If none does but one is unknown, the decision is unknown. */
export const decide = (
  source: Source,
  triggers: readonly Trigger[],
  generators: readonly Generator[],
  facts: SourceFacts = {},
): TriggerDecision => {
  const marker = findSkipMarker(source);
  if (marker !== undefined) return { state: 'unwanted', because: `${printSource(source.ref)} has ${marker} in its title` };
  const refusals: (Answer & { wanted: false })[] = [];
  const unknowns: (Answer & { wanted: 'unknown' })[] = [];
  for (const trigger of triggers) {
    const answer = evaluate(source, trigger, generators, facts);
    if (answer.wanted === true) return toDecision(answer);
    if (answer.wanted === 'unknown') unknowns.push(answer);
    else refusals.push(answer);
  }
  // Prefer a fault that is retried: a stalled one would stop the retries.
  const unknown = unknowns.find(({ fault }) => fault.disposition !== 'stall') ?? unknowns[0];
  if (unknown !== undefined) return { state: 'unknown', because: unknown.because, fault: unknown.fault };
  const short = refusals.find((refusal) => refusal.short !== undefined)?.short;
  return { state: 'unwanted', because: refusals.map(({ because }) => because).join('; '), ...(short && { short }) };
};

export type FactsToRead = Readonly<Record<keyof SourceFacts, boolean>>;

/** The facts that `decide` still needs. One fact may show that another is needed, so call this again after each reading. */
export const factsToRead = (
  source: Source,
  triggers: readonly Trigger[],
  generators: readonly Generator[],
  facts: SourceFacts = {},
): FactsToRead => {
  const needs = { commands: false, changedPaths: false };
  if (findSkipMarker(source) !== undefined) return needs;
  for (const trigger of triggers) {
    const answer = evaluate(source, trigger, generators, facts);
    if (answer.wanted === true) break;
    if (answer.wanted === 'unknown' && answer.lacks !== undefined) needs[answer.lacks] = true;
  }
  return needs;
};

const toDecision = ({ wanted: _, ...rest }: Answer & { wanted: true }): TriggerDecision => ({
  state: 'wanted',
  checks: [],
  ...rest,
});

const evaluate = (source: Source, trigger: Trigger, generators: readonly Generator[], facts: SourceFacts): Answer =>
  generators.find((one) => one.type === trigger.type)?.wants(source, trigger, facts) ?? {
    wanted: false,
    because: `trigger ${trigger.type} is not supported`,
  };

/** Case-insensitive, but not inside a word: `array[skip eph]` does not count. */
const skipMarker = /(?<![\p{L}\p{N}_])\[(?:skip eph|eph skip)\](?![\p{L}\p{N}_])/iu;

const findSkipMarker = ({ pull }: Source): string | undefined =>
  pull === undefined ? undefined : skipMarker.exec(pull.title)?.[0];
