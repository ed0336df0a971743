import { describe, expect, it, type TaskMeta } from 'vitest';
import { getCommand, leftOut, type Program } from './part.ts';

declare module 'vitest' {
  interface TaskMeta {
    missingPart?: { readonly name: string; readonly reason: string };
  }
}

/**
 * A suite that needs a real part. Without it the suite is skipped and names the command that installs it; with `EPH_PARTS=require`, as in CI, a
 * missing part that is not extended fails the run instead. With `EPH_PARTS=none` every such suite is skipped. Nothing is ever installed from here.
 */
export const describeWith = (part: Program, title: string, suite: () => void): void => {
  const plan = planSuite(part, title, suite);
  // oxlint-disable-next-line vitest/valid-describe-callback -- the rule knows neither options nor a suite passed by name
  describe(plan.title, plan.options, plan.suite);
};

interface SuitePlan {
  readonly title: string;
  readonly options: { readonly skip?: boolean; readonly meta?: TaskMeta };
  readonly suite: () => void;
}

const planSuite = (part: Program, title: string, suite: () => void): SuitePlan => {
  const use = readPartUse();
  if (use === 'none') return skip(part, `${title} [skipped, EPH_PARTS=none]`, suite, leftOut);
  const finding = part.find();
  if (finding.found) return { title, options: {}, suite };
  if (use === 'require' && part.tier !== 'extended') return { title, options: {}, suite: () => failFor(part, finding.reason) };
  return skip(part, `${title} [skipped, needs ${part.name}: ${getCommand(part.name)}]`, suite, finding.reason);
};

const skip = (part: Program, title: string, suite: () => void, reason: string): SuitePlan => ({
  title,
  options: { skip: true, meta: { missingPart: { name: part.name, reason } } },
  suite,
});

const failFor = (part: Program, reason: string): void => {
  it(`needs ${part.name}`, () => {
    expect.fail(`${part.name} is missing and EPH_PARTS=require: ${reason}; get it with: ${getCommand(part.name)}`);
  });
};

/** Undefined uses the parts that are here. */
const readPartUse = (): 'require' | 'none' | undefined => {
  const value = process.env['EPH_PARTS'] ?? '';
  if (value === '') return undefined;
  if (value === 'require' || value === 'none') return value;
  throw new Error(`EPH_PARTS is ${JSON.stringify(value)}; it can only be "require", "none" or unset`);
};
