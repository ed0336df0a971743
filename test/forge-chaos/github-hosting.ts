import { createGithubForge } from '@eph/adapters/forge-github/github-forge';
import { createGithubReporter } from '@eph/adapters/forge-github/github-reporter';
import { projectId, silentLog } from '@eph/contract';
import { computeCommitStatus } from '@eph/engine/report/commit-status';
import { GithubEmulator } from '../parts/github/github-emulator.ts';
import type { Failure } from '../parts/github/http/failures.ts';
import type { Hosting, Setting } from './hosting.ts';
import { commonMishaps, type Mishap, toRules } from './mishaps.ts';
import { renderComment } from './reports.ts';
import { label, specOf, type Wish } from './wishes.ts';

const ownMishaps: readonly Mishap<Failure>[] = [
  { failure: { kind: 'secondary-limit', status: 403, retryAfterSeconds: 1 }, share: 0.01 },
  { failure: { kind: 'no-answer' }, share: 0.002 },
];

/** So long a request waits for an answer that does not come; it is real time. */
const timeoutMs = 500;

export const startGithub = async ({ seed, now, random }: Setting): Promise<Hosting> => {
  const github = await GithubEmulator.start({ seed, now });
  const repository = github.createRepository('acme/shop', { private: true });
  repository.grant('alice', 'write');
  repository.grant('mallory', 'read');
  const commits = new Map<string, Wish>();
  const branches = new Map<number, string>();
  const drafts = new Set<number>();
  let pushes = 0;

  const push = (branch: string, wish: Wish): void => {
    pushes += 1;
    const commit = repository.push(branch, { 'eph.yaml': specOf(wish), 'count.txt': String(pushes) }, { by: 'alice' });
    commits.set(commit, wish);
  };

  const forge = createGithubForge({
    project: projectId('shop'),
    baseUrl: github.url,
    owner: 'acme',
    repository: 'shop',
    auth: { token: github.createToken() },
    now,
    random,
    log: silentLog,
    timeoutMs,
    // The clock stands still while anybody waits.
    maxWaitMs: 0,
  });

  return {
    forge,
    reporter: createGithubReporter({ client: forge.client, renderComment, computeStatus: computeCommitStatus }),

    open(branch, wish) {
      push(branch, wish);
      const { number } = repository.openPullRequest({ head: branch, by: 'alice' });
      branches.set(number, branch);
      return Promise.resolve(number);
    },
    push(number, wish) {
      push(branches.get(number) ?? '', wish);
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
      repository.pullRequest(number).comment(text, { by: by === 'a member' ? 'alice' : 'mallory' });
    },
    deleteComment: (number, id) => repository.pullRequest(number).deleteComment(id, { by: 'alice' }),

    look(number) {
      const { state, labels, headSha } = repository.pullRequest(number);
      return { isOpen: state === 'open', isDraft: drafts.has(number), labels, commit: headSha };
    },
    wishOf: (commit) => commits.get(commit),
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
    startStorm() {
      for (const rule of toRules<Failure>([...commonMishaps, ...ownMishaps])) github.failures.add(rule);
    },
    endStorm: () => github.failures.clear(),

    async [Symbol.asyncDispose]() {
      await forge[Symbol.asyncDispose]();
      await github.stop();
    },
  };
};
