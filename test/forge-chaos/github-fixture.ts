import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createGithubForge } from '@eph/adapters/forge-github/github-forge';
import { createGithubReporter } from '@eph/adapters/forge-github/github-reporter';
import { projectId, silentLog } from '@eph/contract';
import { computeCommitStatus } from '@eph/engine/report/commit-status';
import { GithubEmulator } from '../parts/github/github-emulator.ts';
import type { Failure } from '../parts/github/http/failures.ts';
import { commonFaults, type Fault, toRules } from './faults.ts';
import type { FixtureOptions, ForgeFixture } from './forge-fixture.ts';
import { renderComment } from './reports.ts';
import { label, specOf, type TriggerKind } from './triggers.ts';

const ownFaults: readonly Fault<Failure>[] = [
  { failure: { kind: 'secondary-limit', status: 403, retryAfterSeconds: 1 }, share: 0.01 },
  { failure: { kind: 'no-answer' }, share: 0.002 },
];

/** Git waits a minute for an answer, in real time. */
const apiOnly = { path: /^(?!.*\.git\/)/ };

/** In real time: how long a request waits for an answer that never comes. */
const timeoutMs = 500;

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

  const forge = createGithubForge({
    project: projectId('shop'),
    baseUrl: github.url,
    owner: 'acme',
    repository: 'shop',
    auth: { token: github.createToken() },
    folder: join(folder, 'data'),
    now,
    random,
    log: silentLog,
    timeoutMs,
    // The manual clock does not advance during a wait.
    maxWaitMs: 0,
  });

  return {
    forge,
    reporter: createGithubReporter({ client: forge.client, renderComment, computeStatus: computeCommitStatus }),

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
      for (const rule of toRules<Failure>([...commonFaults, ...ownFaults]))
        github.failures.add(rule.failure.kind === 'no-answer' ? { ...rule, match: apiOnly } : rule);
    },
    stopFaults: () => github.failures.clear(),

    async [Symbol.asyncDispose]() {
      await forge[Symbol.asyncDispose]();
      await github.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
};
