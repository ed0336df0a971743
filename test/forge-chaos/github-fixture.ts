import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createGithubServer } from '@eph/adapters/forge-github/github-server';
import { shippedComments } from '@eph/adapters/forge-http/comments.fake';
import { projectId, silentLog } from '@eph/contract';
import { GithubEmulator } from '../parts/github/github-emulator.ts';
import type { Failure } from '../parts/github/http/failures.ts';
import { commonFaults, type Fault, toRules } from './faults.ts';
import type { FixtureOptions, ForgeFixture } from './forge-fixture.ts';
import { label, specOf, type TriggerKind } from './triggers.ts';

/** Pauses are longer than what requests wait for: the manual clock does not advance during a wait. */
const ownFaults: readonly Fault<Failure>[] = [
  { failure: { kind: 'secondary-limit', status: 403, retryAfterSeconds: 3 }, share: 0.012 },
];

export const startGithub = async ({ seed, now, random }: FixtureOptions): Promise<ForgeFixture> => {
  const github = await GithubEmulator.start({ seed, now });
  const repository = github.createRepository('acme/shop', { private: true });
  repository.grant('alice', 'write');
  repository.grant('mallory', 'read');
  const folder = await mkdtemp(join(tmpdir(), 'eph-forge-chaos-'));
  const commits = new Map<string, TriggerKind>();
  const branches = new Map<number, string>();
  const drafts = new Set<number>();
  let pushes = 0;

  const push = (branch: string, trigger: TriggerKind): void => {
    pushes += 1;
    const commit = repository.push(branch, { 'eph.yaml': specOf(trigger), 'count.txt': String(pushes) }, { by: 'alice' });
    commits.set(commit, trigger);
  };

  const server = createGithubServer({ baseUrl: github.url, auth: { token: github.createToken() }, now, random, log: silentLog });
  const where = { project: projectId('shop'), location: 'acme/shop', folder: join(folder, 'data') };
  const { forge, reporter } = server.connect({ ...shippedComments, ...where });

  return {
    forge,
    reporter,

    open(branch, trigger) {
      push(branch, trigger);
      const { number } = repository.openPullRequest({ head: branch, by: 'alice' });
      branches.set(number, branch);
      return Promise.resolve(number);
    },
    push(number, trigger) {
      push(branches.get(number) ?? '', trigger);
      return Promise.resolve();
    },
    label: (number) => repository.pullRequest(number).label(label, { by: 'alice' }),
    unlabel: (number) => repository.pullRequest(number).unlabel(label, { by: 'alice' }),
    close: (number) => repository.pullRequest(number).close({ by: 'alice' }),
    reopen: (number) => repository.pullRequest(number).reopen({ by: 'alice' }),
    setDraft(number, isDraft) {
      const pull = repository.pullRequest(number);
      if (isDraft) {
        drafts.add(number);
        pull.convertToDraft({ by: 'alice' });
      } else {
        drafts.delete(number);
        pull.markReady({ by: 'alice' });
      }
    },
    comment(number, text, by) {
      repository.pullRequest(number).comment(text, { by: by === 'member' ? 'alice' : 'mallory' });
    },
    deleteComment: (number, id) => repository.pullRequest(number).deleteComment(id, { by: 'alice' }),

    pullState(number) {
      const { state, labels, headSha } = repository.pullRequest(number);
      return { isOpen: state === 'open', isDraft: drafts.has(number), labels, commit: headSha };
    },
    triggerOf: (commit) => commits.get(commit),
    reports: (number) =>
      repository
        .pullRequest(number)
        .comments()
        .filter(({ author }) => author === 'octocat'),
    deployed: () => repository.deployments().map(({ sha }) => sha),

    get requests() {
      return github.requests.total.requests;
    },
    get faults() {
      return github.requests.total.failures;
    },
    startFaults() {
      for (const rule of toRules<Failure>([...commonFaults, ...ownFaults])) github.failures.add(rule);
    },
    stopFaults: () => github.failures.clear(),

    async [Symbol.asyncDispose]() {
      await forge[Symbol.asyncDispose]();
      await github.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
};
