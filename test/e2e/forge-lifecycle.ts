import { expect } from 'vitest';
import type { EphdHarness } from './ephd-harness.ts';
import { eventually } from './eventually.ts';
import type { Files } from './sample-repository.ts';

/** A pull request, merge request or branch, depending on the forge. */
export interface Change {
  /** The name of its source in ephd. */
  readonly source: string;
  /** Requests an environment. */
  request(): Promise<void>;
  withdraw(): Promise<void>;
  /** Returns the commit. */
  push(files: Files): Promise<string>;
  setDraft(draft: boolean): Promise<void>;
  close(): Promise<void>;
  reopen(): Promise<void>;
  /** The reports that Eph has written. */
  reports(): Promise<readonly string[]>;
}

export interface ForgeHarness {
  /** Opens a change with these files, without requesting an environment. */
  open(files: Files): Promise<{ readonly change: Change; readonly commit: string }>;
}

/** The same lifecycle on every forge. */
export const expectFullLifecycle = async (harness: EphdHarness, forge: ForgeHarness, app: () => Files): Promise<void> => {
  const { change, commit: first } = await forge.open(app());
  const { source } = change;

  await change.request();
  const environment = await harness.untilReady(source, first);
  expect((await harness.visit(environment.name)).status).toBe(200);
  await untilReported(change, (text) => text.includes('Ready') && text.includes(environment.url));

  const second = await change.push(app());
  await harness.untilReady(source, second);
  await untilReported(change, (text) => text.includes('Ready') && text.includes(second.slice(0, 7)));
  expect((await harness.environment(environment.id)).name).toBe(environment.name);

  await change.setDraft(true);
  // The new commit shows that ephd has read the change since.
  const third = await change.push(app());
  await harness.untilReady(source, third);
  expect((await harness.environment(environment.id)).name).toBe(environment.name);
  await change.setDraft(false);

  await change.withdraw();
  await harness.untilGone(source);
  expect(harness.services()).toEqual([]);
  await untilReported(change, (text) => /removed/i.test(text));

  await change.request();
  await harness.untilReady(source, third);
  await change.close();
  await harness.untilGone(source);
  expect(harness.services()).toEqual([]);

  await change.reopen();
  await harness.untilReady(source, third);
};

const untilReported = (change: Change, says: (text: string) => boolean): Promise<true> =>
  eventually(`a report on ${change.source}`, async () => {
    const reports = await change.reports();
    if (reports.length > 1) throw new Error(`${reports.length} reports instead of one:\n${reports.join('\n---\n')}`);
    return says(reports[0] ?? '') ? true : undefined;
  });

/** Without webhooks only the next pass sees a change, up to two minutes later; this wakes ephd after each step instead. */
export const wakingAfterEachStep = (harness: EphdHarness, forge: ForgeHarness): ForgeHarness => {
  const then = async <T>(step: Promise<T>): Promise<T> => {
    const result = await step;
    await harness.api('/hooks/git', { method: 'POST' });
    return result;
  };
  return {
    async open(files) {
      const { change, commit } = await forge.open(files);
      return {
        commit,
        change: {
          ...change,
          request: () => then(change.request()),
          withdraw: () => then(change.withdraw()),
          push: (changed) => then(change.push(changed)),
          setDraft: (draft) => then(change.setDraft(draft)),
          close: () => then(change.close()),
          reopen: () => then(change.reopen()),
        },
      };
    },
  };
};
