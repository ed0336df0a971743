import { describe, expect, it, type TaskMeta } from 'vitest';
import { getCommand, type Part } from './part.ts';

declare module 'vitest' {
  interface TaskMeta {
    missingPart?: { readonly name: string; readonly reason: string };
  }
}

/**
 * A suite that needs a real part. Without it the suite is skipped and names the command that installs it; with `EPH_PARTS=require`, as in CI, a
 * missing part fails the run instead. Nothing is ever installed from here.
 */
export const describeWith = (part: Part, title: string, suite: () => void): void => {
  const plan = planSuite(part, title, suite);
  // oxlint-disable-next-line vitest/valid-describe-callback -- the rule knows neither options nor a suite passed by name
  describe(plan.title, plan.options, plan.suite);
};

interface SuitePlan {
  readonly title: string;
  readonly options: { readonly skip?: boolean; readonly meta?: TaskMeta };
  readonly suite: () => void;
}

const planSuite = (part: Part, title: string, suite: () => void): SuitePlan => {
  const finding = part.find();
  if (finding.found) return { title, options: {}, suite };
  if (partsAreRequired()) return { title, options: {}, suite: () => failFor(part, finding.reason) };
  return {
    title: `${title} [skipped, needs ${part.name}: ${getCommand(part.name)}]`,
    options: { skip: true, meta: { missingPart: { name: part.name, reason: finding.reason } } },
    suite,
  };
};

const failFor = (part: Part, reason: string): void => {
  it(`needs ${part.name}`, () => {
    expect.fail(`${part.name} is missing and EPH_PARTS=require: ${reason}; get it with: ${getCommand(part.name)}`);
  });
};

const partsAreRequired = (): boolean => {
  const value = process.env['EPH_PARTS'] ?? '';
  if (value !== '' && value !== 'require')
    throw new Error(`EPH_PARTS is ${JSON.stringify(value)}; it can only be "require" or unset`);
  return value === 'require';
};
