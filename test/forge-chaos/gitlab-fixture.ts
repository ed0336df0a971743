import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createGitlabServer } from '@eph/adapters/forge-gitlab/gitlab-server';
import { shippedComments } from '@eph/adapters/forge-http/comments.fake';
import { projectId, silentLog } from '@eph/contract';
import type { Failure } from '../parts/emulation/failures.ts';
import { GitlabEmulator } from '../parts/gitlab/gitlab-emulator.ts';
import { commonFaults, type Fault, toRules } from './faults.ts';
import type { FixtureOptions, ForgeFixture } from './forge-fixture.ts';
import { label, specOf, type TriggerKind } from './triggers.ts';

const path = 'acme/shop';

/** Pauses are longer than what requests wait for: the manual clock does not advance during a wait. */
const ownFaults: readonly Fault<Failure>[] = [
  { failure: { kind: 'status', status: 429, headers: { 'retry-after': '3' }, body: 'Retry later\n' }, share: 0.012 },
];

export const startGitlab = async ({ seed, now, random }: FixtureOptions): Promise<ForgeFixture> => {
  const gitlab = await GitlabEmulator.start({ seed, now });
  const [alice, mallory] = [gitlab.person('alice'), gitlab.person('mallory')];
  await alice.createProject(path, { visibility: 'public', files: { 'README.md': 'Read me.\n' } });
  const token = gitlab.projectToken(path, 'maintainer');
  const folder = await mkdtemp(join(tmpdir(), 'eph-forge-chaos-'));
  const commits = new Map<string, TriggerKind>();
  const branches = new Map<number, string>();
  let pushes = 0;

  const at = (iid: number) => ({ project: path, iid });

  const push = async (branch: string, trigger: TriggerKind): Promise<void> => {
    pushes += 1;
    const commit = await alice.push(path, branch, { 'eph.yaml': specOf(trigger), 'count.txt': String(pushes) });
    commits.set(commit, trigger);
  };

  const server = createGitlabServer({ baseUrl: gitlab.url, token, now, random, log: silentLog });
  const where = { project: projectId('shop'), location: path, folder: join(folder, 'data') };
  const { forge, reporter } = server.connect({ ...shippedComments, ...where });

  return {
    forge,
    reporter,

    async open(branch, trigger) {
      await push(branch, trigger);
      const { iid } = await alice.openMergeRequest(path, { source: branch });
      branches.set(iid, branch);
      return iid;
    },
    push: (number, trigger) => push(branches.get(number) ?? '', trigger),
    label: (number) => alice.label(at(number), label),
    unlabel: (number) => alice.unlabel(at(number), label),
    close: (number) => alice.close(at(number)),
    reopen: (number) => alice.reopen(at(number)),
    setDraft: (number, isDraft) => (isDraft ? alice.markDraft(at(number)) : alice.markReady(at(number))),
    comment: (number, text, by) => void (by === 'member' ? alice : mallory).comment(at(number), text),
    deleteComment: (number, id) => alice.deleteComment(at(number), id),
    pressStop(number) {
      const names = gitlab.read
        .deployments(path)
        .flatMap(({ ref, environment }) => (ref === branches.get(number) ? environment.name : []));
      const standing = gitlab.read.environments(path).find(({ name, state }) => state === 'available' && names.includes(name));
      if (standing !== undefined) alice.pressStop(path, standing.name);
      return standing !== undefined;
    },

    pullState(number) {
      const { state, draft, sha } = gitlab.read.mergeRequest(at(number));
      return { isOpen: state === 'opened', isDraft: draft, labels: gitlab.read.labels(at(number)), commit: sha };
    },
    triggerOf: (commit) => commits.get(commit),
    reports: (number) => gitlab.read.comments(at(number)).filter(({ author }) => author.startsWith('project_')),
    deployed() {
      const newest = new Map(gitlab.read.deployments(path).map(({ environment, sha }) => [environment.name, sha]));
      return gitlab.read
        .environments(path)
        .map(({ name, state }) => (state === 'available' && newest.get(name)) || `nothing in ${name}, which is ${state}`);
    },

    get requests() {
      return gitlab.requests.total.requests;
    },
    get faults() {
      return gitlab.requests.total.failures;
    },
    startFaults() {
      for (const rule of toRules([...commonFaults, ...ownFaults])) gitlab.failures.add(rule);
    },
    stopFaults: () => gitlab.failures.clear(),

    async [Symbol.asyncDispose]() {
      await forge[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
      await gitlab[Symbol.asyncDispose]();
    },
  };
};
