import { compilePathGlob, failure, type Source, stepsOf, type Trigger } from '@eph/contract';
import type { Answer, SourceFacts } from './generator.ts';
import { printName, printNames, printSource } from './printed-names.ts';

/** Characters of paths times steps of patterns; a part of a second, in which nothing else happens. */
const maxSteps = 30_000_000;

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
  const steps = paths.reduce((sum, pattern) => sum + stepsOf(pattern), 0);
  if (steps * changed.items.reduce((sum, path) => sum + path.length, 0) > maxSteps)
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
