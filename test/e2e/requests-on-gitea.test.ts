import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type EnvironmentView,
  environmentPlanSchema,
  heldSchema,
  problemSchema,
  type RouteName,
  redeployAnswerSchema,
  requestAnswerSchema,
  whySchema,
} from '@eph/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeWith } from '../parts/describe-with.ts';
import { gitea } from '../parts/gitea.ts';
import type { GiteaRepository } from '../parts/gitea-repository.ts';
import { schemathesis } from '../parts/schemathesis.ts';
import { findSharedGitea, ownName } from '../parts/shared-gitea.ts';
import { EphdHarness } from './ephd-harness.ts';
import { eventually } from './eventually.ts';
import { labelledApp, textsOf } from './labelled-app.ts';
import { runEph } from './run-eph.ts';
import { expectAsDescribed, succeeded } from './run-schemathesis.ts';
import { oneService, spec } from './sample-app.ts';

/** One pull request with an environment, and a tag with one. */
describeWith(gitea, 'requests about environments on Gitea', () => {
  let harness: EphdHarness;
  let repository: GiteaRepository;
  let number: number;
  let environment: EnvironmentView;
  let ofTag: EnvironmentView;

  const tagged = spec(oneService, { triggers: [{ type: 'git_tag', patterns: ['v*'] }] });

  beforeAll(async () => {
    const server = await findSharedGitea();
    harness = await EphdHarness.create();
    repository = await server.createRepository(server.admin.name, ownName('requests'), { 'README.md': 'a shop' });
    await repository.createLabel('preview');
    const config = join(harness.folder, 'ephd.yaml');
    const forges = { work: { type: 'gitea', url: server.url, token: { from: 'GITEA_TOKEN' } } };
    const location = `${repository.owner}/${repository.name}`;
    const projects = [{ name: 'shop', trusted: true, forge: 'work', location }];
    // Every removal is held.
    const deletion_bound = { at_least: 0, share: 0 };
    await writeFile(config, JSON.stringify({ forges, projects, deletion_bound }));
    await harness.start({ projects: [], args: ['--config', config], env: { GITEA_TOKEN: server.admin.token } });
    const release = await repository.pushFiles('main', { ...textsOf(labelledApp()), 'eph.yaml': tagged });
    await repository.createTag('v1');
    const commit = await repository.pushFiles('work', textsOf(labelledApp()));
    ({ number } = await repository.openPullRequest('work', 'Work'));
    await repository.addLabels(number, 'preview');
    await harness.api('/hooks/git', { method: 'POST' });
    environment = await harness.untilReady(String(number), commit);
    ofTag = await harness.untilReady('v1', release);
  }, 180_000);
  afterAll(() => harness[Symbol.asyncDispose]());

  const labels = async (): Promise<readonly string[]> =>
    (await repository.readPullRequest(number)).labels.map(({ name }) => name).toSorted();

  const send = async (method: string, what: string, { id }: EnvironmentView = environment, body?: object) => {
    const answer = await harness.api(`/api/v1/environments/${id}/${what}`, {
      method,
      ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    return { status: answer.status, answer: JSON.parse(answer.body) as unknown };
  };

  /** What a request changed on the forge. */
  const changesOf = async (method: string, what: string, body?: object): Promise<readonly object[]> => {
    const { status, answer } = await send(method, what, environment, body);
    expect({ status, answer }).toMatchObject({ status: 202 });
    return requestAnswerSchema.parse(answer).changes;
  };

  const added = (label: string) => ({ type: 'label_added', label });
  const removed = (label: string) => ({ type: 'label_removed', label });

  it.each([
    ['pin', 'preview:keep'],
    ['pause', 'preview:pause'],
  ])('%s writes the label %s, once, and its end takes it off', async (what, label) => {
    expect(await changesOf('POST', what)).toEqual([added(label)]);
    expect(await labels()).toEqual(['preview', label]);
    expect(await changesOf('POST', what)).toEqual([]);
    expect(await changesOf('DELETE', what)).toEqual([removed(label)]);
    expect(await labels()).toEqual(['preview']);
    expect(await changesOf('DELETE', what)).toEqual([]);
  });

  it('extend replaces the label that says how long it lives', async () => {
    expect(await changesOf('POST', 'extend', { for: '24h' })).toEqual([added('preview:24h')]);
    expect(await changesOf('POST', 'extend', { for: '72h' })).toEqual([added('preview:72h'), removed('preview:24h')]);
    expect(await changesOf('POST', 'extend', { for: '72h' })).toEqual([]);
    expect(await labels()).toEqual(['preview', 'preview:72h']);
    await repository.removeLabel(number, 'preview:72h');
  });

  it('a paused environment stays as it is, and is not redeployed', async () => {
    await changesOf('POST', 'pause');
    const commit = await repository.pushFiles('work', textsOf(labelledApp()));
    await harness.api('/hooks/git', { method: 'POST' });
    await eventually('it says that it is paused', async () => {
      const { lines } = await harness.read(`/api/v1/environments/${environment.id}/why`, whySchema);
      return lines.some((line) => line.includes('a label asks to leave it as it is'));
    });
    const { answer } = await send('POST', 'redeploy', environment, {});
    expect(problemSchema.parse(answer)).toMatchObject({
      status: 409,
      detail: expect.stringContaining('a label asks to leave it as it is'),
    });
    expect((await harness.visit(environment.name)).status).toBe(200);
    await changesOf('DELETE', 'pause');
    await harness.untilReady(String(number), commit);
  });

  it('a redeploy that is repeated is the same redeploy', async () => {
    const before = (await harness.visit(environment.name)).body;
    for (let time = 0; time < 2; time += 1) {
      const { status, answer } = await send('POST', 'redeploy', environment, { components: ['web'] });
      expect({ status, ...redeployAnswerSchema.parse(answer) }).toEqual({ status: 202, components: ['web'] });
    }
    const after = await eventually('another process answers', async () => {
      const { status, body } = await harness.visit(environment.name);
      return status === 200 && body !== before ? body : undefined;
    });
    await harness.until(String(number), 'ready again', ({ phase }) => phase === 'Ready');
    expect((await harness.visit(environment.name)).body).toBe(after);
  });

  it.each([
    [
      'POST',
      'pin',
      undefined,
      'its environment lasts as long as it does; `environment.ttl` in `eph.yaml` is for labelled pull requests',
    ],
    ['DELETE', 'pin', undefined, '`environment.ttl` in `eph.yaml`'],
    ['POST', 'extend', { for: '72h' }, '`environment.ttl` in `eph.yaml`'],
    [
      'POST',
      'pause',
      undefined,
      'its environment follows it; take it out of `triggers` in `eph.yaml`, or push to another branch',
    ],
    ['DELETE', 'pause', undefined, '`triggers` in `eph.yaml`'],
  ])('%s %s of a tag says what to do in eph.yaml', async (method, what, body, sentence) => {
    const { answer } = await send(method, what, ofTag, body);
    expect(problemSchema.parse(answer)).toMatchObject({
      status: 409,
      detail: expect.stringMatching(/^tag v1 has no labels: /),
    });
    expect(problemSchema.parse(answer).detail).toContain(sentence);
  });

  describe('from the command line', () => {
    const eph = async (...args: readonly string[]): Promise<string> => {
      const outcome = await runEph(harness, args);
      expect(outcome).toMatchObject({ code: 0, err: '' });
      return outcome.out;
    };

    it.each([
      ['pin', 'preview:keep'],
      ['pause', 'preview:pause'],
    ])('%s puts a label on the pull request, and --off takes it off', async (command, label) => {
      expect(await eph(command, environment.name)).toContain(`Added label ${label} to pull request ${number}.\n`);
      expect(await labels()).toEqual(['preview', label]);
      expect(await eph(command, environment.name, '--off')).toContain(`Removed label ${label} from pull request ${number}.\n`);
      expect(await labels()).toEqual(['preview']);
    });

    it('extend says until when the environment lives', async () => {
      expect(await eph('extend', environment.name, '72h')).toMatch(
        /^Added label preview:72h to .*\n.*; it expires 3d after the label preview was set\.\nThat is at \d{4}-\d\d-\d\dT.*Z\.\n$/,
      );
      await repository.removeLabel(number, 'preview:72h');
    });

    it('up creates the environment of another pull request, and down and release remove it', async () => {
      await repository.pushFiles('other', textsOf(labelledApp()));
      const { number: other } = await repository.openPullRequest('other', 'Other');
      const url = (await eph('up', String(other), '--wait', '--quiet')).trim();
      const [made] = (await harness.environments()).filter(({ source }) => source.name === String(other));
      expect({ url, phase: made?.phase }).toEqual({ url: made?.url, phase: 'Ready' });
      expect((await harness.visit(made?.name ?? '')).status).toBe(200);
      const listed = await eph('list', '--label', 'preview', '--quiet');
      expect(listed.trim().split('\n').toSorted()).toEqual([environment.name, made?.name ?? ''].toSorted());
      expect(await eph('list', '--label', 'other', '--quiet')).toBe('');
      await eph('down', made?.name ?? '');
      await harness.until(String(other), 'held', ({ summary }) => summary.includes('held'));
      expect(await eph('held')).toContain(made?.name);
      await eph('release', made?.name ?? '');
      await harness.untilGone(String(other));
      expect((await harness.environments()).map(({ id }) => id).toSorted()).toEqual([environment.id, ofTag.id].toSorted());
    });
  });

  it('a plan is made for labels and commits that the pull request has not', async () => {
    const plan = async (body: object) => {
      const source = { kind: 'pr', name: String(number) };
      const answer = await harness.api('/api/v1/plan', { method: 'POST', body: JSON.stringify({ source, ...body }) });
      expect(answer).toMatchObject({ status: 200 });
      return environmentPlanSchema.parse(JSON.parse(answer.body));
    };
    expect(await plan({})).toMatchObject({ environment: environment.id, wanted: true, actions: [] });
    expect(await plan({ labels: [] })).toMatchObject({ wanted: false, actions: [{ type: 'destroy', component: 'web' }] });
    expect(await plan({ labels: ['preview', 'preview:pause'] })).toMatchObject({ actions: [{ code: 'plan.paused' }] });
    const elsewhere = await repository.pushFiles('elsewhere', { ...textsOf(labelledApp()), 'eph.yaml': tagged });
    expect(await plan({ commit: elsewhere })).toMatchObject({ wanted: false });
    expect(await plan({ commit: '0'.repeat(40) })).toMatchObject({ wanted: null, actions: [{ type: 'wait' }] });
    expect(await labels()).toEqual(['preview']);
    expect((await harness.visit(environment.name)).status).toBe(200);
  });

  // The last one: it changes labels at random, and lets environments go.
  describeWith(schemathesis, 'and its API against its description', () => {
    const changing: readonly RouteName[] = [
      'pinEnvironment',
      'unpinEnvironment',
      'extendEnvironment',
      'pauseEnvironment',
      'resumeEnvironment',
      'releaseEnvironment',
      'listHeld',
    ];

    it('answers as it says where it writes labels, and where something is held', { timeout: 200_000 }, async () => {
      const tags = ['v2', 'v3'];
      for (const tag of tags) await repository.createTag(tag);
      await harness.api('/hooks/git', { method: 'POST' });
      const [held, kept] = await Promise.all(tags.map((tag) => harness.until(tag, 'ready', ({ phase }) => phase === 'Ready')));
      for (const tag of tags) await repository.deleteTag(tag);
      await harness.api('/hooks/git', { method: 'POST' });
      for (const tag of tags) await harness.until(tag, 'held', ({ summary }) => summary.includes('held'));
      const findings = await expectAsDescribed({
        url: `http://127.0.0.1:${harness.apiPort}`,
        folder: harness.folder,
        token: harness.authorization().authorization?.replace('Bearer ', '') ?? '',
        description: (await harness.api('/openapi.json')).body,
        known: { 'path.id': [environment.id, held?.id ?? ''], 'body.for': ['72h', '30d'] },
        phases: ['fuzzing'],
        examples: 8,
        perSecond: 20,
        only: changing,
      });
      expect(succeeded(findings).toSorted()).toEqual(changing.toSorted());
      const { environments } = await harness.read('/api/v1/held', heldSchema);
      expect(environments.map(({ id }) => id)).toContain(kept?.id);
    });
  });
});
