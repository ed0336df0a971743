import { failure, type Source, type Trigger } from '@eph/contract';
import type { Answer, SourceFacts } from './generator.ts';
import { compilePathGlob } from './glob.ts';
import { printName, printNames, printSource } from './printed-names.ts';

/** Characters of paths times characters of patterns; a few seconds of work at most. */
const maxComparisons = 200_000_000;

/** Keeps a positive answer only if the source changes a file that matches the trigger's `paths`. */
export const filterByPaths = (answer: Answer, source: Source, { paths }: Trigger, facts: SourceFacts): Answer => {
  if (answer.wanted !== true || paths === undefined) return answer;
  const who = printSource(source.ref);
  const { changedPaths: changed } = facts;
  if (changed === undefined) {
    const because = `the paths that ${who} changes were not read`;
    return { wanted: 'unknown', because, fault: failure('forge.incomplete', because), lacks: 'changedPaths' };
  }
  // The filter only saves work, it protects nothing. If matching is too expensive, the source passes.
  if (totalLength(paths) * totalLength(changed.items) > maxComparisons)
    return { ...answer, because: `${answer.because}; it changes too many files to match them against paths` };
  const found = findMatch(changed.items, paths);
  if (found !== undefined) return { ...answer, because: `${answer.because}, and it changes ${printName(found)}` };
  if (changed.complete) return { wanted: false, because: `${who} changes nothing that matches ${printNames(paths)}` };
  const fault = changed.faults[0] ?? failure('forge.incomplete', `only some of the paths that ${who} changes could be read`);
  return { wanted: 'unknown', because: `the paths that ${who} changes could not all be read: ${fault.message}`, fault };
};

const findMatch = (changed: readonly string[], patterns: readonly string[]): string | undefined => {
  const globs = patterns.map((pattern) => compilePathGlob(normalize(pattern)));
  return changed.find((path) => globs.some((matches) => matches(path)));
};

/** People write a folder as `./deploy/`; the forge reports `deploy/app.yaml`. */
const normalize = (pattern: string): string => pattern.replace(/^(\.\/)+/, '').replace(/\/$/, '/**');

const totalLength = (texts: readonly string[]): number => texts.reduce((sum, text) => sum + text.length, 0);
