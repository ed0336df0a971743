import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createGitForge } from '@eph/adapters/forge-git/git-forge';
import { Origin } from '@eph/adapters/forge-git/origin.fake';
import {
  type CommitSha,
  defaultTriggers,
  type EnvironmentRequest,
  EphError,
  type PlanRequest,
  type ProjectId,
  parseSpec,
  projectId,
  type RequestAnswer,
  requestAnswerSchema,
  routes,
  type Source,
  type SourceRef,
  silentLog,
  toFailure,
} from '@eph/contract';
import { gitBranchGenerator, gitTagGenerator } from '@eph/engine/desired/git-ref-triggers';
import { identify } from '@eph/engine/desired/identity';
import { autoGenerator, prCommentGenerator, prLabelGenerator } from '@eph/engine/desired/pull-triggers';
import { decide } from '@eph/engine/desired/triggers';
import type { Forge } from '@eph/engine/source/forge';
import { FakeForge, FakeRepository } from '@eph/engine/source/forge.fake';
import { FakeRefWriter } from '@eph/engine/source/ref-writer.fake';
import { describe, expect, it, onTestFinished } from 'vitest';
import { chooseProject } from '../api/find-project.ts';
import { parseBody } from '../api/parse-call.ts';
import { EnvironmentRequests, type LabelChange, type ProjectAccess, type SourceDecision } from './environment-requests.ts';

const shop = projectId('shop');
const branch = (name: string): SourceRef => ({ kind: 'branch', name });
const generators = [gitBranchGenerator, gitTagGenerator, prLabelGenerator, prCommentGenerator, autoGenerator];

/** As the engine does it. */
const considerWith =
  (forgeOf: (project: ProjectId) => Forge) =>
  async (source: Source, signal: AbortSignal): Promise<SourceDecision> => {
    const forge = forgeOf(source.project);
    const bytes = await forge.readFile(source.commit, 'eph.yaml', 100_000, signal);
    const triggers = (bytes === undefined ? undefined : parseSpec(bytes, 'eph.yaml').triggers) ?? defaultTriggers;
    const commands = source.pull && (await forge.pulls?.commands(source.ref, signal));
    return { decision: decide(source, triggers, generators, commands === undefined ? {} : { commands }), triggers };
  };

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** The handlers over some projects, as a client of the API reaches them. */
class RequestClient {
  readonly woken: ProjectId[] = [];
  readonly #requests: EnvironmentRequests;
  readonly #projects: ReadonlyMap<ProjectId, ProjectAccess>;

  constructor(projects: ReadonlyMap<ProjectId, ProjectAccess>) {
    this.#projects = projects;
    const forgeOf = (project: ProjectId): Forge => projects.get(project)?.forge ?? expect.fail(`no project ${project}`);
    const consider = considerWith(forgeOf);
    this.#requests = new EnvironmentRequests({
      projects,
      consider,
      considerLifetime: async (source, signal) => ({ ...(await consider(source, signal)), lifetime: undefined }),
      now: () => Date.parse('2026-01-01T00:00:00Z'),
      wake: (project) => this.woken.push(project),
      log: silentLog,
    });
  }

  async up(kind: string, name: string, more: object = {}): Promise<Answer> {
    return await this.post(JSON.stringify({ source: { kind, name }, ...more }));
  }

  async post(body: string): Promise<Answer> {
    const request = new Request('http://localhost/', { method: 'POST', body });
    return await answerOf(async () => {
      const { project, source } = (await parseBody(routes.createEnvironment.body, request)) as EnvironmentRequest;
      const chosen = chooseProject(project, 'environments.change', this.#projects, { may: () => true });
      return await this.#requests.bringUp(chosen, source, never);
    });
  }

  async changeLabels(ref: SourceRef, change: LabelChange): Promise<Answer> {
    return await answerOf(() => this.#requests.changeLabels({ project: shop, ref }, change, never));
  }

  async readPlanned(ref: SourceRef, changes: Partial<PlanRequest>): Promise<Source | string> {
    try {
      return await this.#requests.readPlanned(shop, { source: ref, ...changes }, never);
    } catch (error) {
      return toFailure(error).message;
    }
  }

  async down(ref: SourceRef, query = ''): Promise<Answer> {
    return await answerOf(() => this.#requests.takeDown({ project: shop, ref }, query === '?force=true', never));
  }
}

const never = new AbortController().signal;

const answerOf = async (work: () => Promise<RequestAnswer>): Promise<Answer> => {
  try {
    return { status: 202, body: requestAnswerSchema.parse(await work()) };
  } catch (error) {
    const { code, message } = toFailure(error);
    return { status: 409, body: { code, message } };
  }
};

const spec = (triggers: string): { readonly 'eph.yaml': string } => ({
  'eph.yaml': `version: "1.0"\nname: shop\ntriggers: [${triggers}]\nprocess: { services: { web: { command: run } } }\n`,
});
const byLabel = spec('{ type: pr_label, labels: [preview, "demo, please"] }');

describe('a request about a pull request', () => {
  const start = (files: Readonly<Record<string, string>> = byLabel, disturb?: () => Promise<void>) => {
    const repository = new FakeRepository(shop);
    repository.push(branch('main'), {});
    const commit = repository.push(branch('feature'), files);
    const forge = new FakeForge(shop, repository, disturb === undefined ? {} : { disturb });
    const pull = repository.pullRequests.open({ head: 'feature' });
    const client = new RequestClient(new Map([[shop, { forge }]]));
    const labels = (): readonly string[] => repository.pullRequests.find(pull).pull.labels;
    return { repository, commit, pull, client, labels };
  };

  it('changes the labels that say on which terms it has its environment, once', async () => {
    const { repository, pull, client, labels } = start();
    for (const label of ['preview', 'preview:24h']) repository.pullRequests.label(pull, label);
    const change: LabelChange = {
      type: 'lifetime',
      add: 'preview:72h',
      removes: (label) => label === 'preview:24h',
      instead: '',
    };
    const changes = [
      { type: 'label_added', label: 'preview:72h' },
      { type: 'label_removed', label: 'preview:24h' },
    ];
    expect(await client.changeLabels(pull, change)).toMatchObject({ status: 202, body: { changes } });
    expect(labels()).toEqual(['preview', 'preview:72h']);
    expect(client.woken).toEqual([shop]);
    expect(await client.changeLabels(pull, change)).toMatchObject({ status: 202, body: { changes: [] } });
  });

  it('plans for it as it would be, with labels or a commit that it has not, and changes nothing', async () => {
    const { commit, client, pull, labels, repository } = start();
    repository.pullRequests.label(pull, 'bug');
    const other = 'c'.repeat(40);
    expect(await client.readPlanned(pull, {})).toMatchObject({ commit, pull: { labels: ['bug'] } });
    expect(await client.readPlanned(pull, { labels: ['preview', 'demo'] })).toMatchObject({
      commit,
      pull: { labels: ['demo', 'preview'] },
    });
    expect(await client.readPlanned(pull, { labels: [] })).toMatchObject({ pull: { labels: [] } });
    expect(await client.readPlanned(pull, { commit: other })).toMatchObject({ commit: other, pull: { labels: ['bug'] } });
    expect(await client.readPlanned(branch('feature'), { labels: ['preview'] })).toBe('branch feature has no labels');
    repository.pullRequests.close(pull);
    expect(await client.readPlanned(pull, { labels: ['preview'] })).toBe('shop has no pull request 1');
    expect([labels(), client.woken]).toEqual([['bug'], []]);
  });

  it('changes no labels of what has none', async () => {
    const { client, pull, repository } = start();
    expect(
      await client.changeLabels(branch('feature'), { type: 'lifetime', add: 'preview:keep', instead: 'it lasts anyway' }),
    ).toMatchObject({
      body: { code: 'api.conflict', message: 'branch feature has no labels: it lasts anyway' },
    });
    repository.pullRequests.close(pull);
    expect(await client.changeLabels(pull, { type: 'lifetime', add: 'preview:keep', instead: '' })).toMatchObject({
      body: { code: 'api.not_found', message: 'pull request 1 is gone' },
    });
  });

  it('adds the label that its triggers look for, once', async () => {
    const { client, pull, labels } = start();
    const first = await client.up('pr', pull.name);
    expect(first).toMatchObject({
      status: 202,
      body: {
        project: 'shop',
        source: pull,
        environment: identify(shop, pull),
        changes: [{ type: 'label_added', label: 'preview' }],
        because: expect.stringContaining('preview'),
      },
    });
    expect(labels()).toEqual(['preview']);
    expect(client.woken).toEqual([shop]);
    expect(await client.up('pr', pull.name)).toMatchObject({ status: 202, body: { changes: [] } });
  });

  it('starts a pass even where it changes nothing, and says what the source is at', async () => {
    const { client, pull, repository } = start();
    repository.pullRequests.label(pull, 'preview');
    const commit = repository.push(branch('feature'), byLabel);
    expect(await client.up('pr', pull.name)).toMatchObject({ status: 202, body: { changes: [], commit } });
    expect(client.woken).toEqual([shop]);
  });

  it('removes every such label and no other, once', async () => {
    const { client, pull, repository, labels } = start();
    for (const label of ['preview', 'demo, please', 'bug']) repository.pullRequests.label(pull, label);
    const changes = [
      { type: 'label_removed', label: 'preview' },
      { type: 'label_removed', label: 'demo, please' },
    ];
    expect(await client.down(pull)).toMatchObject({ status: 202, body: { changes } });
    expect(labels()).toEqual(['bug']);
    expect(await client.down(pull)).toMatchObject({ status: 202, body: { changes: [] } });
    expect(client.woken).toEqual([shop]);
  });

  it('may name its branch instead', async () => {
    const { client, pull, labels } = start();
    expect(await client.up('branch', 'feature')).toMatchObject({ status: 202, body: { source: pull } });
    expect(labels()).toEqual(['preview']);
    expect(await client.up('branch', 'feature')).toMatchObject({ status: 202, body: { source: pull, changes: [] } });
  });

  it('must name the number where a branch has several, and only branches of the project count', async () => {
    const { client, repository, pull, labels } = start();
    repository.pushToFork('mallory/shop', 'feature', byLabel);
    repository.pullRequests.open({ head: 'feature', fork: 'mallory/shop' });
    expect(await client.up('branch', 'feature')).toMatchObject({ body: { source: pull } });
    repository.pullRequests.unlabel(pull, 'preview');
    const other = repository.pullRequests.open({ head: 'feature', base: 'release' });
    expect(await client.up('branch', 'feature')).toMatchObject({
      body: { code: 'api.conflict', message: expect.stringContaining(`name one of ${pull.name}, ${other.name}`) },
    });
    expect(labels()).toEqual([]);
  });

  it('changes nothing where no label would help', async () => {
    const unlabelled = start(spec('{ type: pr_comment, pattern: /preview }'));
    expect(await unlabelled.client.up('pr', '1')).toMatchObject({ body: { code: 'api.conflict' } });
    const skipped = start();
    skipped.repository.pullRequests.edit(skipped.pull, { title: 'no [skip eph]' });
    expect(await skipped.client.up('pr', '1')).toMatchObject({
      body: { code: 'api.conflict', message: expect.stringContaining('[skip eph]') },
    });
    expect([unlabelled.labels(), skipped.labels()]).toEqual([[], []]);
  });

  it('removes nothing where that would not remove the environment, and says what would', async () => {
    const { client, repository, pull, labels } = start(spec('{ type: pr_label, labels: [preview] }, { type: auto }'));
    repository.pullRequests.label(pull, 'preview');
    expect(await client.down(pull)).toMatchObject({
      body: { code: 'api.conflict', message: expect.stringContaining('Close it, or write [skip eph] in its title.') },
    });
    expect(labels()).toEqual(['preview']);
    expect(client.woken).toEqual([]);
  });

  it('has nothing to do once the pull request is closed', async () => {
    const { client, repository, pull } = start();
    repository.pullRequests.label(pull, 'preview');
    repository.pullRequests.close(pull);
    expect(await client.down(pull)).toMatchObject({ status: 202, body: { changes: [], because: 'pull request 1 is gone' } });
    expect(await client.up('pr', '1')).toMatchObject({ body: { code: 'api.not_found' } });
  });

  it('fails while the forge does not answer', async () => {
    let away = true;
    const { client, pull, labels } = start(byLabel, async () => {
      if (away) throw new EphError('forge.unreachable', 'the forge is down');
    });
    expect(await client.up('pr', '1')).toMatchObject({ body: { code: 'forge.unreachable' } });
    expect(await client.up('branch', 'feature')).toMatchObject({ body: { code: 'forge.unreachable' } });
    expect(await client.down(pull)).toMatchObject({ body: { code: 'forge.unreachable' } });
    expect(labels()).toEqual([]);
    away = false;
    expect(await client.up('pr', '1')).toMatchObject({ status: 202 });
    expect(labels()).toEqual(['preview']);
  });

  it('about a branch without one creates a branch where it may, and else says what is missing', async () => {
    const { client, repository } = start();
    repository.push(branch('lonely'), {});
    expect(await client.up('branch', 'lonely')).toMatchObject({
      body: { code: 'api.conflict', message: expect.stringContaining('Open a pull request') },
    });
    const writing = new RequestClient(
      new Map([[shop, { forge: new FakeForge(shop, repository), refs: new FakeRefWriter('preview/', repository) }]]),
    );
    expect(await writing.up('branch', 'lonely')).toMatchObject({
      status: 202,
      body: { source: branch('preview/lonely'), changes: [{ type: 'branch_made' }] },
    });
  });
});

describe('a request about a branch of plain Git', () => {
  const start = async (files: Readonly<Record<string, string>> = {}) => {
    const origin = await Origin.create();
    const folder = await mkdtemp(join(tmpdir(), 'eph-requests-'));
    const forge = createGitForge({ project: shop, location: origin.path, folder });
    onTestFinished(async () => {
      await forge[Symbol.asyncDispose]();
      await origin[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    });
    const commit = await origin.push(branch('feature/login'), files);
    const client = new RequestClient(new Map([[shop, { forge, refs: forge.refs }]]));
    const branches = async (): Promise<Readonly<Record<string, CommitSha>>> =>
      Object.fromEntries((await forge.sources(AbortSignal.timeout(20_000))).items.map(({ ref, commit }) => [ref.name, commit]));
    return { origin, commit, client, branches };
  };

  it('makes a branch that the triggers want, once', async () => {
    const { client, commit, branches } = await start();
    const made = branch('preview/feature/login');
    expect(await client.up('branch', 'feature/login')).toMatchObject({
      status: 202,
      body: {
        source: made,
        environment: identify(shop, made),
        changes: [{ type: 'branch_made', branch: made.name, commit }],
        because: expect.stringContaining('preview/**'),
      },
    });
    expect(await branches()).toEqual({ 'feature/login': commit, [made.name]: commit });
    expect(await client.up('branch', 'feature/login')).toMatchObject({ status: 202, body: { source: made, changes: [] } });
    expect(await client.up('branch', made.name)).toMatchObject({ status: 202, body: { source: made, changes: [] } });
  });

  it('deletes what it made, once', async () => {
    const { client, commit, branches } = await start();
    await client.up('branch', 'feature/login');
    const made = branch('preview/feature/login');
    expect(await client.down(made)).toMatchObject({
      status: 202,
      body: { changes: [{ type: 'branch_deleted', branch: made.name, commit }] },
    });
    expect(await branches()).toEqual({ 'feature/login': commit });
    expect(await client.down(made)).toMatchObject({ status: 202, body: { changes: [], because: `branch ${made.name} is gone` } });
  });

  it('deletes work that is nowhere else only by force', async () => {
    const { client, origin, commit, branches } = await start();
    const own = await origin.push(branch('preview/own'), { 'a.txt': 'work' });
    for (const query of ['', '?force=false', '?force=1'])
      expect(await client.down(branch('preview/own'), query)).toMatchObject({
        body: { code: 'api.conflict', message: expect.stringContaining(`no other branch or tag has ${own}`) },
      });
    expect(await branches()).toEqual({ 'feature/login': commit, 'preview/own': own });
    expect(await client.down(branch('preview/own'), '?force=true')).toMatchObject({
      body: { changes: [{ type: 'branch_deleted', commit: own }] },
    });
    expect(await branches()).toEqual({ 'feature/login': commit });
  });

  it('leaves a branch of the same name alone that is somewhere else', async () => {
    const { client, origin, commit, branches } = await start();
    const own = await origin.push(branch('preview/feature/login'), { 'a.txt': 'work' });
    expect(await client.up('branch', 'feature/login')).toMatchObject({ body: { code: 'api.conflict' } });
    expect(await branches()).toEqual({ 'feature/login': commit, 'preview/feature/login': own });
  });

  it('never deletes branches and tags outside of preview/', async () => {
    const triggers = '{ type: git_branch, pattern: "**" }, { type: git_tag, pattern: "**" }';
    const { client, origin, branches } = await start(spec(triggers));
    await origin.push(branch('release/1'), spec(triggers));
    await origin.push({ kind: 'tag', name: 'preview/v1' }, spec(triggers));
    const before = await branches();
    for (const ref of [branch('release/1'), branch('feature/login'), { kind: 'tag', name: 'preview/v1' } as const])
      expect(await client.down(ref, '?force=true')).toMatchObject({ body: { code: 'api.conflict' } });
    expect(await branches()).toEqual(before);
  });

  it('makes nothing that no trigger wants', async () => {
    const { client, commit, branches } = await start(spec('{ type: git_tag, pattern: "v*" }'));
    expect(await client.up('branch', 'feature/login')).toMatchObject({
      body: { code: 'api.conflict', message: expect.stringContaining('would get none either') },
    });
    expect(await branches()).toEqual({ 'feature/login': commit });
  });

  it('has no pull requests', async () => {
    const { client } = await start();
    expect(await client.up('pr', '1')).toMatchObject({
      body: { code: 'api.conflict', message: expect.stringContaining('plain Git') },
    });
  });

  it('is only a name, whatever it is', async () => {
    const { client, commit, branches } = await start();
    for (const name of ['../../heads/main', 'a..b', '-d', '$(id)', 'a b', '\0', 'x'.repeat(1000), 'ü/🚢'])
      expect(await client.up('branch', name)).toMatchObject({ body: { code: 'api.not_found' } });
    expect(await branches()).toEqual({ 'feature/login': commit });
  });
});

describe('a request', () => {
  const two = (): RequestClient => {
    const other = projectId('other');
    const projects = [shop, other].map((id) => [id, { forge: new FakeForge(id, new FakeRepository(id)) }] as const);
    return new RequestClient(new Map(projects));
  };

  it('names its project where there are several', async () => {
    expect(await two().up('pr', '1')).toMatchObject({
      body: { code: 'api.bad_request', message: expect.stringContaining('ephd watches shop, other') },
    });
    expect(await two().up('pr', '1', { project: 'shp' })).toMatchObject({
      body: { code: 'api.not_found', message: 'there is no project "shp": ephd watches shop, other' },
    });
    expect(await two().up('pr', '1', { project: 'shop' })).toMatchObject({
      body: { code: 'api.not_found', message: 'shop has no pull request 1 that is open' },
    });
  });

  it.each([
    '',
    '{',
    '[]',
    'null',
    '{}',
    '{"source":{"kind":"tag","name":"v1"}}',
    '{"source":{"kind":"pr","name":""}}',
    '{"source":{"kind":"pr","name":"1","label":"x"}}',
    '{"project":7,"source":{"kind":"pr","name":"1"}}',
    `{"source":{"kind":"branch","name":"${'x'.repeat(1001)}"}}`,
    ...['0', '01', '-1', '1.5', '1e3', '12345678901', '1/../2', '%31', 'one'].map(
      (name) => `{"project":"shop","source":{"kind":"pr","name":"${name}"}}`,
    ),
  ])('that is invalid is refused: %s', async (body) => {
    expect(await two().post(body)).toMatchObject({ body: { code: 'api.bad_request' } });
  });

  it('has a size limit', async () => {
    const answer = await two().post(JSON.stringify({ source: { kind: 'branch', name: 'x'.repeat(100_000) } }));
    expect(answer).toMatchObject({ body: { code: 'api.too_large' } });
  });
});
