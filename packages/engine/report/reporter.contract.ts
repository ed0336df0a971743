import { type CommitSha, environmentId, type ProjectId } from '@eph/contract';
import { expect, it, onTestFinished } from 'vitest';
import type { Report, Reporter } from './reporter.ts';
import { createView } from './view.fake.ts';

export interface ReporterHarness extends AsyncDisposable {
  readonly reporter: Reporter;
  readonly project: ProjectId;
  /** A commit of the project, another one on every call. */
  commit(): Promise<CommitSha>;
  /** What people read about the environment of this report in the place where the report belongs; `undefined` when it says nothing. */
  seen(report: Report): Promise<string | undefined>;
  /** How often something people see was changed so far. */
  writes(): Promise<number>;
  /** Nothing can be written from now on. */
  disconnect(): Promise<void>;
  reconnect(): Promise<void>;
}

/** Text that could be taken for the marks around it, for a command, or for another language. */
const hostileTexts: readonly (readonly [name: string, text: string])[] = [
  ['a line', 'one line'],
  ['several lines', 'several\nlines\n\nwith a gap'],
  ['marks of a block', '[eph 0000000000000001 branch:x]\n[end 0000000000000001]\n[end 0000000000000002]'],
  ['indented and broken marks', '  [end 0000000000000001]\n [eph 1]\n[eph x'],
  ['markup', '<!-- eph --> --> `code` **bold** <b>bold</b> $(id) %s'],
  ['commands', '-m\n--force\ndata 5\ndone\nfrom refs/heads/main'],
  ['other languages', 'Größe 日本語 🚢 \u202etfel'],
  ['a long line', 'x'.repeat(5_000)],
];

/** For reporters that show the text of a report beside its commit. */
export const describeReporter = (create: () => Promise<ReporterHarness>): void => {
  const start = async () => {
    const harness = await create();
    onTestFinished(() => harness[Symbol.asyncDispose]());
    const { signal } = new AbortController();
    const ensure = (report: Report): Promise<void> => harness.reporter.ensure(report, signal);
    const reportOn = (commit: CommitSha, number: number, text: string): Report => ({
      project: harness.project,
      environment: environmentId(number.toString(16).padStart(16, '0')),
      source: { kind: 'branch', name: `preview/${number}` },
      commit,
      text,
      view: createView({ commit, summary: text }),
      last: false,
    });
    return { harness, ensure, reportOn };
  };

  it.each(hostileTexts)('shows a report as it was given: %s', async (_name, text) => {
    const { harness, ensure, reportOn } = await start();
    const commit = await harness.commit();
    const report = reportOn(commit, 1, text);
    const other = reportOn(commit, 2, 'another environment');
    await ensure(other);
    await ensure(report);
    expect(await harness.seen(report)).toBe(text);
    expect(await harness.seen(other)).toBe('another environment');
  });

  it('edits in place', async () => {
    const { harness, ensure, reportOn } = await start();
    const commit = await harness.commit();
    await ensure(reportOn(commit, 1, 'starting'));
    await ensure(reportOn(commit, 1, 'ready'));
    expect(await harness.seen(reportOn(commit, 1, ''))).toBe('ready');
    expect(await harness.writes()).toBe(2);
  });

  it('writes nothing when there is nothing new', async () => {
    const { harness, ensure, reportOn } = await start();
    const report = reportOn(await harness.commit(), 1, 'ready\nat some address');
    await ensure(report);
    const before = await harness.writes();
    await ensure(report);
    await Promise.all([ensure(report), ensure({ ...report })]);
    expect(await harness.writes()).toBe(before);
  });

  it('keeps environments on one commit apart', async () => {
    const { harness, ensure, reportOn } = await start();
    const commit = await harness.commit();
    await ensure(reportOn(commit, 1, 'first'));
    await ensure(reportOn(commit, 2, 'second'));
    await ensure(reportOn(commit, 3, 'third'));
    await ensure(reportOn(commit, 2, 'second, changed'));
    const seen = await Promise.all([1, 2, 3].map((number) => harness.seen(reportOn(commit, number, ''))));
    expect(seen).toEqual(['first', 'second, changed', 'third']);
  });

  it('goes along with a new commit and leaves nothing outdated behind', async () => {
    const { harness, ensure, reportOn } = await start();
    const [old, next] = [await harness.commit(), await harness.commit()];
    await ensure(reportOn(old, 1, 'ready at the old commit'));
    await ensure(reportOn(old, 2, 'stays'));
    await ensure(reportOn(next, 1, 'ready at the new commit'));
    expect(await harness.seen(reportOn(next, 1, ''))).toBe('ready at the new commit');
    expect(await harness.seen(reportOn(old, 1, ''))).not.toBe('ready at the old commit');
    expect(await harness.seen(reportOn(old, 2, ''))).toBe('stays');
  });

  it('takes many reports at the same time', async () => {
    const { harness, ensure, reportOn } = await start();
    const commits = await Promise.all([harness.commit(), harness.commit(), harness.commit()]);
    const reports = Array.from({ length: 60 }, (_, index) =>
      reportOn(commits[index % 3] as CommitSha, index + 1, `text ${index}`),
    );
    await Promise.all(reports.map(ensure));
    expect(await Promise.all(reports.map((report) => harness.seen(report)))).toEqual(reports.map((report) => report.text));
  });

  it('says so when it cannot write, and writes later', async () => {
    const { harness, ensure, reportOn } = await start();
    const commit = await harness.commit();
    await ensure(reportOn(commit, 1, 'starting'));
    await harness.disconnect();
    await expect(ensure(reportOn(commit, 1, 'ready'))).rejects.toMatchObject({
      code: 'report.failed',
      message: expect.stringMatching(/\S/),
    });
    await harness.reconnect();
    await ensure(reportOn(commit, 1, 'ready'));
    expect(await harness.seen(reportOn(commit, 1, ''))).toBe('ready');
  });
};
