import { commentMarker, commitSha, environmentId, type ReportView } from '@eph/contract';
import type { Report, Reporter } from '@eph/engine/report/reporter';
import { createView } from '@eph/engine/report/view.fake';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { describeWith } from '../../../test/parts/describe-with.ts';
import { gitea } from '../../../test/parts/gitea.ts';
import type { ConnectOptions } from '../forge-http/forge-server.ts';
import { type FixtureOptions, GiteaHarness } from './gitea-harness.fake.ts';

const { signal } = new AbortController();

describeWith(gitea, 'reports on Gitea', () => {
  let harness: GiteaHarness;
  beforeAll(async () => {
    harness = await GiteaHarness.start();
  });

  const start = async (options: FixtureOptions = {}, reporting: Partial<ConnectOptions> = {}) => {
    const fixture = await harness.createFixture(options);
    onTestFinished(() => fixture[Symbol.asyncDispose]());
    const { repository, forge } = fixture;
    const commit = commitSha(await repository.pushFiles('feature', { 'a.txt': 'a' }));
    const { number } = await repository.openPullRequest('feature');
    const createReporter = (): Reporter =>
      fixture.connect({
        renderComment: ({ environment, view }) => `${commentMarker(environment)}\n\n${view.phase}`,
        ...reporting,
      }).reporter;
    const reportOn = (source: Report['source'], changes: Partial<ReportView> = {}): Report => ({
      project: forge.project,
      environment: environmentId('0'.repeat(16)),
      source,
      commit,
      text: '',
      view: createView({ commit, ...changes }),
      last: changes.phase === 'Removed',
    });
    const statuses = async () => {
      const { statuses: found } = await repository.send<{ readonly statuses: readonly object[] | null }>(
        'GET',
        `/commits/${commit}/status`,
      );
      return found ?? [];
    };
    const pull: Report['source'] = { kind: 'pr', name: String(number) };
    return { ...fixture, commit, number, pull, createReporter, reporter: createReporter(), reportOn, statuses };
  };

  const context = 'eph/shop-calm-bay-1234';

  it('of branches are statuses of their commit, green only when ready', async () => {
    const { repository, reporter, reportOn, statuses, number } = await start();
    const branch = { kind: 'branch', name: 'feature' } as const;
    const shown = async (changes: Partial<ReportView>) => {
      await reporter.ensure(reportOn(branch, changes), signal);
      return await statuses();
    };
    expect(await shown({ phase: 'Progressing', summary: 'web is starting' })).toMatchObject([
      { context, status: 'pending', description: 'Progressing: web is starting' },
    ]);
    expect(await shown({})).toMatchObject([{ context, status: 'success', target_url: 'http://shop-calm-bay-1234.localhost' }]);
    expect(await shown({ phase: 'Degraded' })).toMatchObject([{ context, status: 'failure' }]);
    expect(await shown({ phase: 'Removed' })).toMatchObject([{ context, status: 'skipped', target_url: '' }]);
    expect(await repository.readComments(number)).toEqual([]);
  });

  it('cost nothing while nothing changes, and write nothing again after a start', async () => {
    const { proxy, createReporter, reporter, reportOn, pull } = await start();
    await reporter.ensure(reportOn(pull), signal);
    proxy.takeApiRequests();
    await reporter.ensure(reportOn(pull), signal);
    expect(proxy.takeApiRequests()).toEqual([]);
    await createReporter().ensure(reportOn(pull), signal);
    expect(proxy.takeApiRequests().filter((line) => !line.startsWith('GET'))).toEqual([]);
    await reporter.ensure(reportOn(pull, { phase: 'Degraded' }), signal);
    expect(proxy.takeApiRequests().map((line) => line.split(' ')[0])).toEqual(['PATCH', 'GET', 'POST']);
  });

  it('are statuses alone where nobody wants comments', async () => {
    const { repository, reporter, reportOn, statuses, pull, number } = await start({}, { comments: false });
    await reporter.ensure(reportOn(pull), signal);
    expect(await repository.readComments(number)).toEqual([]);
    expect(await statuses()).toMatchObject([{ context, status: 'success' }]);
  });

  it('are written on pull requests that are closed', async () => {
    const { repository, reporter, reportOn, pull, number } = await start();
    await reporter.ensure(reportOn(pull), signal);
    await repository.closePullRequest(number);
    await reporter.ensure(reportOn(pull, { phase: 'Removed' }), signal);
    expect(await repository.readComments(number)).toMatchObject([{ body: expect.stringContaining('Removed') }]);
  });

  it('end with the pull request and the commit that they are about', async () => {
    const { repository, reporter, reportOn, pull, number } = await start();
    await reporter.ensure(reportOn(pull), signal);
    await repository.send('DELETE', `/issues/${number}`);
    await reporter.ensure(reportOn(pull, { phase: 'Removed' }), signal);
    const nowhere = commitSha('0123456789abcdef0123456789abcdef01234567');
    await reporter.ensure({ ...reportOn({ kind: 'branch', name: 'gone' }), commit: nowhere }, signal);
    expect((await repository.send<unknown[]>('GET', '/pulls?state=all')).length).toBe(0);
  });

  it('do not take a repository that cannot be seen for comments that were deleted', async () => {
    const { repository, reporter, reportOn, pull, number } = await start();
    await reporter.ensure(reportOn(pull), signal);
    await repository.send('PATCH', '', { private: true });
    await repository.send('DELETE', `/collaborators/${harness.bot.name}`);
    await expect(reporter.ensure(reportOn(pull, { phase: 'Degraded' }), signal)).rejects.toMatchObject({ code: 'report.failed' });
    await repository.addCollaborator(harness.bot, 'admin');
    await reporter.ensure(reportOn(pull, { phase: 'Degraded' }), signal);
    expect(await repository.readComments(number)).toMatchObject([{ body: expect.stringContaining('Degraded') }]);
  });

  it.each(['PATCH', 'POST'])(
    'are told again when the answer to a %s got lost and things are as they were before it',
    async (method) => {
      const { repository, proxy, reporter, reportOn, statuses, pull, number } = await start();
      await reporter.ensure(reportOn(pull), signal);
      proxy.dropsAnswer = (line) => line.startsWith(method);
      await expect(reporter.ensure(reportOn(pull, { phase: 'Degraded' }), signal)).rejects.toMatchObject({
        code: 'report.failed',
      });
      proxy.dropsAnswer = () => false;
      await reporter.ensure(reportOn(pull), signal);
      expect(await repository.readComments(number)).toMatchObject([{ body: expect.stringContaining('Ready') }]);
      expect(await statuses()).toMatchObject([{ context, status: 'success' }]);
    },
  );

  it('say which right is missing', async () => {
    const token = await harness.server.api.as(harness.bot).createToken('too-narrow', ['write:repository', 'write:issue']);
    const { reporter, reportOn, pull } = await start({ token });
    await expect(reporter.ensure(reportOn(pull), signal)).rejects.toMatchObject({
      code: 'report.failed',
      message: expect.stringContaining('read:user'),
    });
  });
});
