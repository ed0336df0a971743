import { expect } from 'vitest';
import type { EphdHarness } from './ephd-harness.ts';
import { eventually } from './eventually.ts';
import type { Files } from './sample-repository.ts';

/** One change on its way, on whatever forge: what people do to it and what they see there. */
export interface Change {
  /** How ephd calls its source. */
  readonly source: string;
  /** Asks for an environment. */
  request(): Promise<void>;
  withdraw(): Promise<void>;
  /** Returns the commit. */
  push(files: Files): Promise<string>;
  setDraft(draft: boolean): Promise<void>;
  close(): Promise<void>;
  reopen(): Promise<void>;
  /** What Eph has written about it. */
  reports(): Promise<readonly string[]>;
}

export interface ForgeHarness {
  /** Opens a change with these files; nobody has asked for an environment yet. Returns it with its commit. */
  open(files: Files): Promise<{ readonly change: Change; readonly commit: string }>;
}

/** The whole life of an environment, the same wherever the change lives. */
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
  // The commit shows that ephd has looked since.
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

/** Without webhooks the next pass finds out; it may be two minutes away, so it is asked for. */
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
