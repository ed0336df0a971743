import type { Reporter, TestModule } from 'vitest/node';
import { getCommand, leftOut } from './part.ts';

interface Skipped {
  readonly reason: string;
  suites: number;
  tests: number;
}

/** Prints at the end which suites were skipped because of a part that is missing or left out. */
export default class SkippedReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const skipped = countSkipped(modules);
    if (skipped.size === 0) return;
    console.log('\n Skipped because a part is missing or left out:');
    for (const [name, { suites, tests, reason }] of skipped)
      console.log(`   ${name}: ${count(suites, 'suite')}, ${count(tests, 'test')} (${reason})`);
    const missing = [...skipped].filter(([, { reason }]) => reason !== leftOut).map(([name]) => name);
    if (missing.length > 0) console.log(` Get what is missing with: ${getCommand(...missing)}`);
    console.log('');
  }
}

const countSkipped = (modules: readonly TestModule[]): ReadonlyMap<string, Skipped> => {
  const skipped = new Map<string, Skipped>();
  for (const suite of modules.flatMap((module) => [...module.children.allSuites()])) {
    const missing = suite.meta().missingPart;
    if (missing === undefined) continue;
    const entry = skipped.get(missing.name) ?? { reason: missing.reason, suites: 0, tests: 0 };
    entry.suites += 1;
    entry.tests += [...suite.children.allTests()].length;
    skipped.set(missing.name, entry);
  }
  return skipped;
};

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;
