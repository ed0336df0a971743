import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createGiteaServer } from '@eph/adapters/forge-gitea/gitea-server';
import { shippedComments } from '@eph/adapters/forge-http/comments.fake';
import { projectId, silentLog } from '@eph/contract';
import type { Failure } from '../parts/emulation/failures.ts';
import { gitea } from '../parts/gitea.ts';
import type { GiteaRepository } from '../parts/gitea-repository.ts';
import { FaultProxy } from './fault-proxy.ts';
import { commonFaults, type Fault, toRules } from './faults.ts';
import type { FixtureOptions, ForgeFixture, PullState } from './forge-fixture.ts';
import { label, specOf, type TriggerKind } from './triggers.ts';

/** Pauses are longer than what requests wait for: the manual clock does not advance during a wait. */
const ownFaults: readonly Fault<Failure>[] = [
  { failure: { kind: 'status', status: 429, headers: { 'retry-after': '3' }, body: 'Retry later\n' }, share: 0.012 },
];

/** Gitea adds a push to the timeline of a pull request asynchronously. */
const [recordedWithinMs, pollEveryMs] = [60_000, 20];

/** A real server; the true state of its pull requests is computed from the actions of users. */
export const startGitea = async ({ seed, now, random }: FixtureOptions): Promise<ForgeFixture> => {
  const server = await gitea.start();
  const [alice, mallory, bot] = [
    await server.createUser('alice'),
    await server.createUser('mallory'),
    await server.createUser('eph-bot'),
  ];
  await server.createOrganisation('acme');
  const repository = await server.createRepository('acme', 'shop');
  await repository.addCollaborator(alice, 'write');
  await repository.addCollaborator(bot, 'admin');
  await repository.createLabel(label);
  const proxy = await FaultProxy.start(server.port, seed);
  const folder = await mkdtemp(join(tmpdir(), 'eph-forge-chaos-'));
  const commits = new Map<string, TriggerKind>();
  const branches = new Map<number, string>();
  const pulls = new Map<number, PullState>();
  let pushes = 0;

  const pullState = (number: number): PullState => {
    const pull = pulls.get(number);
    if (pull === undefined) throw new Error(`there is no pull request ${number}`);
    return pull;
  };
  const change = (number: number, changes: Partial<PullState>): void =>
    void pulls.set(number, { ...pullState(number), ...changes });

  const push = async (branch: string, trigger: TriggerKind): Promise<string> => {
    pushes += 1;
    const files = { 'eph.yaml': specOf(trigger), 'count.txt': String(pushes) };
    const commit = await repository.as(alice).pushFiles(branch, files);
    commits.set(commit, trigger);
    return commit;
  };

  const configured = createGiteaServer({ baseUrl: proxy.url, token: bot.token, now, random, log: silentLog });
  const where = { project: projectId('shop'), location: 'acme/shop', folder: join(folder, 'data') };
  const { forge, reporter } = configured.connect({ ...shippedComments, ...where });

  return {
    forge,
    reporter,

    async open(branch, trigger) {
      const commit = await push(branch, trigger);
      const { number } = await repository.as(alice).openPullRequest(branch);
      branches.set(number, branch);
      pulls.set(number, { isOpen: true, isDraft: false, labels: [], commit });
      return number;
    },
    async push(number, trigger) {
      const commit = await push(branches.get(number) ?? '', trigger);
      await untilRecorded(repository, number, commit);
      change(number, { commit });
    },
    async label(number) {
      await repository.addLabels(number, label);
      change(number, { labels: [label] });
    },
    async unlabel(number) {
      if (pullState(number).labels.length > 0) await repository.removeLabel(number, label);
      change(number, { labels: [] });
    },
    async close(number) {
      await repository.closePullRequest(number);
      change(number, { isOpen: false });
    },
    async reopen(number) {
      await repository.reopenPullRequest(number);
      change(number, { isOpen: true });
    },
    async setDraft(number, isDraft) {
      await repository.editPullRequest(number, { title: `${isDraft ? 'WIP: ' : ''}${branches.get(number)}` });
      change(number, { isDraft });
    },
    async comment(number, text, by) {
      await repository.as(by === 'member' ? alice : mallory).addComment(number, text);
    },
    deleteComment: (_number, id) => repository.deleteComment(id),

    pullState,
    triggerOf: (commit) => commits.get(commit),
    reports: async (number) => (await repository.readComments(number)).filter(({ user }) => user.login === bot.name),
    // Gitea keeps no such list.
    deployed: () => undefined,

    get requests() {
      return proxy.requests;
    },
    get faults() {
      return proxy.faults;
    },
    startFaults() {
      for (const rule of toRules([...commonFaults, ...ownFaults])) proxy.failures.add(rule);
    },
    stopFaults: () => proxy.failures.clear(),

    async [Symbol.asyncDispose]() {
      await forge[Symbol.asyncDispose]();
      await proxy[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
      await server.stop();
    },
  };
};

/** Waits until Gitea has recorded the push; a command given before would count for the previous commit. */
const untilRecorded = async (repository: GiteaRepository, number: number, commit: string): Promise<void> => {
  const until = Date.now() + recordedWithinMs;
  for (let page = 1; Date.now() < until; ) {
    const path = `/issues/${number}/timeline?limit=50&page=${page}`;
    const events = await repository.send<{ readonly type: string; readonly body: string }[] | null>('GET', path);
    if (events?.some(({ type, body }) => type === 'pull_push' && body.includes(commit)) === true) return;
    const isLast = events === null || events.length === 0;
    page = isLast ? 1 : page + 1;
    if (isLast) await pause(pollEveryMs);
  }
  throw new Error(`Gitea did not record ${commit} on pull request ${number}`);
};
