import {
  answerMarker,
  type CommitSha,
  commentMarker,
  type EnvironmentId,
  environmentId,
  isMarkedComment,
  type ProjectId,
  type ReportView,
  type SourceRef,
} from '@eph/contract';
import { expect, it, onTestFinished } from 'vitest';
import type { CommandAnswer, Report, Reporter } from './reporter.ts';
import { createView } from './view.fake.ts';

export interface CommentReporterHarness extends AsyncDisposable {
  readonly project: ProjectId;
  /** A reporter without state, as after a restart of the daemon. */
  start(): Reporter;
  /** Opens another pull request on every call. */
  openPull(): Promise<Pull>;
  push(pull: Pull): Promise<CommitSha>;
  comments(pull: Pull): Promise<readonly Comment[]>;
  /** The expected comment for this report. */
  shown(report: Report): string;
  /** Somebody comments; returns the id of the comment. */
  comment(pull: Pull, body: string): Promise<string>;
  remove(pull: Pull, id: string): Promise<void>;
  /** Others add more comments than fit on one page of the forge. */
  addManyComments(pull: Pull): Promise<void>;
  /** How often reporters wrote, edited or deleted a comment so far. */
  writes(): Promise<number>;
  /** From now on writing fails. */
  disconnect(): Promise<void>;
  reconnect(): Promise<void>;
}

export interface Pull {
  readonly source: SourceRef;
  readonly commit: CommitSha;
}

export interface Comment {
  readonly id: string;
  readonly body: string;
}

const environment = (number: number): EnvironmentId => environmentId(number.toString(16).padStart(16, '0'));

/** For reporters that comment on pull requests. */
export const describeCommentReporter = (create: () => Promise<CommentReporterHarness>): void => {
  const start = async () => {
    const harness = await create();
    onTestFinished(() => harness[Symbol.asyncDispose]());
    const { signal } = new AbortController();
    let reporter = harness.start();
    const reportOn = ({ source, commit }: Pull, number: number, changes: Partial<ReportView> = {}, last = false): Report => ({
      project: harness.project,
      environment: environment(number),
      source,
      commit,
      text: changes.phase ?? 'Ready',
      view: createView({ commit, ...changes }),
      last,
    });
    return {
      harness,
      pull: await harness.openPull(),
      reportOn,
      ensure: (report: Report): Promise<void> => reporter.ensure(report, signal),
      answer: async (answer: CommandAnswer): Promise<void> => await reporter.answer?.(answer, signal),
      restart: (): void => {
        reporter = harness.start();
      },
      bodies: async (pull: Pull): Promise<readonly string[]> => (await harness.comments(pull)).map((comment) => comment.body),
    };
  };

  it('comments once and finds its comment again', async () => {
    const { harness, pull, reportOn, ensure, restart, bodies } = await start();
    const report = reportOn(pull, 1);
    await ensure(report);
    expect(await bodies(pull)).toEqual([harness.shown(report)]);
    expect(isMarkedComment(harness.shown(report), report.environment)).toBe(true);
    const before = await harness.writes();
    await ensure(report);
    restart();
    await ensure(report);
    expect([await bodies(pull), await harness.writes()]).toEqual([[harness.shown(report)], before]);
  });

  it('edits in place, with every change and every commit', async () => {
    const { harness, pull, reportOn, ensure, restart } = await start();
    await ensure(reportOn(pull, 1, { phase: 'Progressing' }));
    const [first] = await harness.comments(pull);
    await ensure(reportOn(pull, 1));
    restart();
    const moved = { ...pull, commit: await harness.push(pull) };
    const report = reportOn(moved, 1, { phase: 'Failed', summary: 'eph.yaml:1:1: the file is empty' });
    await ensure(report);
    expect(await harness.comments(moved)).toEqual([{ id: first?.id, body: harness.shown(report) }]);
  });

  it('comments once, however many reports arrive at the same time', async () => {
    const { harness, pull, reportOn, ensure } = await start();
    const summaries = Array.from({ length: 10 }, (_, index) => `change ${index}`);
    await Promise.all(summaries.map((summary) => ensure(reportOn(pull, 1, { summary }))));
    const last = reportOn(pull, 1, { summary: 'the last one' });
    await ensure(last);
    expect((await harness.comments(pull)).map((comment) => comment.body)).toEqual([harness.shown(last)]);
  });

  it('keeps environments of one pull request apart', async () => {
    const { harness, pull, reportOn, ensure, restart, bodies } = await start();
    const [one, two] = [reportOn(pull, 1, { summary: 'one' }), reportOn(pull, 2, { summary: 'two' })];
    await Promise.all([ensure(one), ensure(two)]);
    const changed = reportOn(pull, 1, { summary: 'one, changed' });
    restart();
    await ensure(changed);
    expect((await bodies(pull)).toSorted()).toEqual([harness.shown(changed), harness.shown(two)].toSorted());
  });

  it('comments on the pull request that a report is about', async () => {
    const { harness, pull, reportOn, ensure, bodies } = await start();
    const other = await harness.openPull();
    const [one, two] = [reportOn(pull, 1, { summary: 'one' }), reportOn(other, 2, { summary: 'two' })];
    await ensure(one);
    await ensure(two);
    expect([await bodies(pull), await bodies(other)]).toEqual([[harness.shown(one)], [harness.shown(two)]]);
  });

  it('finds its comment among many', async () => {
    const { harness, pull, reportOn, ensure, restart } = await start();
    const ours = async () => (await harness.comments(pull)).filter((one) => isMarkedComment(one.body, environment(1)));
    await harness.addManyComments(pull);
    await ensure(reportOn(pull, 1, { phase: 'Progressing' }));
    await harness.addManyComments(pull);
    restart();
    const report = reportOn(pull, 1);
    await ensure(report);
    expect((await ours()).map((comment) => comment.body)).toEqual([harness.shown(report)]);
  });

  it('does not write again what somebody deleted, as long as it runs', async () => {
    const { harness, pull, reportOn, ensure, bodies } = await start();
    const other = reportOn(pull, 2, { summary: 'another environment' });
    await ensure(reportOn(pull, 1, { phase: 'Progressing' }));
    await ensure(other);
    for (const comment of await harness.comments(pull))
      if (isMarkedComment(comment.body, environment(1))) await harness.remove(pull, comment.id);
    await ensure(reportOn(pull, 1));
    await ensure(reportOn({ ...pull, commit: await harness.push(pull) }, 1, { phase: 'Failed' }));
    await ensure(reportOn(pull, 1, { phase: 'Removed' }, true));
    expect(await bodies(pull)).toEqual([harness.shown(other)]);
  });

  it('does not write again what somebody deleted after an edit that failed', async () => {
    const { harness, pull, reportOn, ensure, bodies } = await start();
    await ensure(reportOn(pull, 1, { phase: 'Progressing' }));
    await harness.disconnect();
    await expect(ensure(reportOn(pull, 1))).rejects.toMatchObject({ code: 'report.failed' });
    await harness.reconnect();
    for (const { id } of await harness.comments(pull)) await harness.remove(pull, id);
    await ensure(reportOn(pull, 1));
    expect(await bodies(pull)).toEqual([]);
  });

  it('leaves alone what others wrote, even with a marker', async () => {
    const { harness, pull, reportOn, ensure, restart, bodies } = await start();
    const marker = commentMarker(environment(1));
    const foreign = ['Looks good', `${marker}\n\nReady, I promise`, `> ${marker}\n> quoted`, `before ${marker}`];
    for (const body of foreign) await harness.comment(pull, body);
    await ensure(reportOn(pull, 1, { phase: 'Progressing' }));
    restart();
    const report = reportOn(pull, 1);
    await ensure(report);
    expect(await bodies(pull)).toEqual([...foreign, harness.shown(report)]);
  });

  it('answers a command once, whoever copies the marker, and after a restart', async () => {
    const { harness, pull, answer, restart, bodies } = await start();
    const command = { id: '17', text: '/deploy', author: 'alice', mayWrite: true, at: '', commit: pull.commit };
    const foreign = `${answerMarker(command)}\nIt is fine`;
    await harness.comment(pull, foreign);
    const given = { project: harness.project, source: pull.source, command, text: 'Write it so:\n\n<pre>&#47;deploy 1</pre>' };
    await Promise.all([answer(given), answer(given)]);
    const expected = [foreign, `${answerMarker(command)}\n${given.text}`];
    expect(await bodies(pull)).toEqual(expected);
    restart();
    await answer(given);
    expect(await bodies(pull)).toEqual(expected);
    await answer({ ...given, command: { ...command, id: '18' } });
    expect(await bodies(pull)).toHaveLength(3);
  });

  it('says that a removed environment is gone', async () => {
    const { harness, pull, reportOn, ensure, bodies } = await start();
    await ensure(reportOn(pull, 1));
    const last = reportOn(pull, 1, { phase: 'Removed', summary: 'the label preview was taken away' }, true);
    await ensure(last);
    await ensure(last);
    expect(await bodies(pull)).toEqual([harness.shown(last)]);
  });

  it('comments again when an environment comes back', async () => {
    const { harness, pull, reportOn, ensure, restart, bodies } = await start();
    await ensure(reportOn(pull, 1));
    await ensure(reportOn(pull, 1, { phase: 'Removed' }, true));
    restart();
    const report = reportOn(pull, 1, { phase: 'Progressing' });
    await ensure(report);
    expect(await bodies(pull)).toEqual([harness.shown(report)]);
  });

  it('shows untrusted text as plain text', async () => {
    const { harness, pull, reportOn, ensure, restart, bodies } = await start();
    const hostile = `@everyone \`\`\` </details> ${commentMarker(environment(2))} \u202e\u0000 ${'x'.repeat(100_000)}`;
    const one = reportOn(pull, 1, {
      phase: 'Failed',
      summary: hostile,
      faults: [`${hostile}\n/close\n${hostile}`],
      notes: [hostile],
    });
    const two = reportOn(pull, 2);
    await ensure(one);
    restart();
    await ensure(two);
    const before = await harness.writes();
    await ensure(one);
    expect([await bodies(pull), await harness.writes()]).toEqual([[harness.shown(one), harness.shown(two)], before]);
  });

  it('rejects when it cannot write, and writes later', async () => {
    const { harness, pull, reportOn, ensure, bodies } = await start();
    await ensure(reportOn(pull, 1, { phase: 'Progressing' }));
    const report = reportOn(pull, 1);
    await harness.disconnect();
    await expect(ensure(report)).rejects.toMatchObject({ code: 'report.failed', message: expect.stringMatching(/\S/) });
    await harness.reconnect();
    await ensure(report);
    expect(await bodies(pull)).toEqual([harness.shown(report)]);
  });
};
