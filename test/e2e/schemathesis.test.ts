import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type EnvironmentView, newTokenSchema, problemSchema, type RouteName, routes, type Scope } from '@eph/contract';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWith } from '../parts/describe-with.ts';
import { schemathesis } from '../parts/schemathesis.ts';
import { EphdHarness } from './ephd-harness.ts';
import { expectAsDescribed, type Findings, type RunOptions, succeeded } from './run-schemathesis.ts';
import { app, oneService, twoServices } from './sample-app.ts';
import { SampleRepository } from './sample-repository.ts';

/** What a plain request gets is tested below. */
const undriven: readonly RouteName[] = ['exec', 'forwardPort'];
console.log(`schemathesis does not call ${undriven.join(', ')}: it opens no WebSockets`);

/** These end what the others need, so each has a run of its own. */
const ending: readonly RouteName[] = ['removeEnvironment', 'endSession'];

/**
 * Refused whatever is sent: to plain Git, which has no labels, and because nothing is held. All but the last one succeed in
 * `requests-on-gitea.test.ts`.
 */
const refused: readonly RouteName[] = [
  'pinEnvironment',
  'unpinEnvironment',
  'extendEnvironment',
  'pauseEnvironment',
  'resumeEnvironment',
  'releaseEnvironment',
  'scaleEnvironment',
];

describeWith(schemathesis, 'the API against its description', () => {
  let harness: EphdHarness;
  let environments: readonly EnvironmentView[];
  let target: Omit<RunOptions, 'phases' | 'examples' | 'perSecond'>;

  const createToken = async (subject: string, scope: Scope): Promise<string> => {
    const body = JSON.stringify({ person: `https://id.example.com#${subject}`, scope, for: '1d' });
    const answer = await harness.api('/api/v1/tokens', { method: 'POST', body });
    return newTokenSchema.parse(JSON.parse(answer.body)).token;
  };

  beforeAll(async () => {
    harness = await EphdHarness.create();
    const blog = await SampleRepository.create(harness.folder, 'blog');
    const config = join(harness.folder, 'ephd.yaml');
    const rule = (subject: string, rest: object) => ({ who: { person: `https://id.example.com#${subject}` }, ...rest });
    await writeFile(
      config,
      JSON.stringify({
        projects: [
          { name: 'shop', trusted: true, location: harness.repository.path },
          { name: 'blog', trusted: true, location: blog.path },
        ],
        access: { rules: [rule('viewer', { role: 'viewer', projects: ['shop'] }), rule('developer', { role: 'developer' })] },
      }),
    );
    await harness.start({ projects: [], args: ['--config', config] });
    await harness.repository.push('main', app(oneService));
    const one = await harness.repository.push('preview/one', app(twoServices));
    const two = await blog.push('preview/two', app(oneService));
    environments = [await harness.untilReady('preview/one', one), await harness.untilReady('preview/two', two)];
    const names = ['shop', 'blog'];
    target = {
      url: `http://127.0.0.1:${harness.apiPort}`,
      folder: harness.folder,
      description: (await harness.api('/openapi.json')).body,
      known: {
        'path.id': environments.flatMap(({ id, name }) => [id, name]),
        'path.project': names,
        'query.project': names,
        'query.environment': environments.map(({ name }) => name),
        'query.component': ['web', 'api'],
        'query.since': ['10m', '2026-01-05T09:00:00Z'],
        'body.project': names,
        'body.source.kind': ['branch'],
        'body.source.name': ['main', 'preview/one', 'preview/two'],
        'body.component': ['web'],
        'body.for': ['72h', '30d'],
      },
    };
  });
  afterAll(() => harness[Symbol.asyncDispose]());

  /** In the long run, ephd allows a token or an address 100 requests a second. */
  const check = (given: Partial<RunOptions> & Pick<RunOptions, 'examples'>): Promise<Findings> =>
    expectAsDescribed({ ...target, phases: ['fuzzing'], perSecond: 45, without: undriven, ...given });

  const adminToken = (): string => harness.authorization().authorization?.replace('Bearer ', '') ?? '';

  it('answers an administrator as it says', { timeout: 400_000 }, async () => {
    const findings = await check({
      token: adminToken(),
      phases: ['coverage', 'fuzzing', 'stateful'],
      examples: 12,
      without: [...undriven, ...ending],
    });
    const others = new Set<RouteName>([...undriven, ...ending, ...refused]);
    const expected = (Object.keys(routes) as RouteName[]).filter((name) => !others.has(name));
    expect(succeeded(findings).toSorted()).toEqual(expected.toSorted());
    expect((await harness.environments()).map(({ source }) => source.name)).toContain('preview/main');
  });

  it('answers a viewer of one project as it says', { timeout: 200_000 }, async () => {
    const token = await createToken('viewer', 'read');
    const findings = await check({ token, examples: 4, without: [...undriven, 'endSession'] });
    expect(succeeded(findings)).toEqual(expect.arrayContaining(['listEnvironments', 'readStatus', 'listSources', 'readPlan']));
    const forbidden: readonly RouteName[] = [
      'readLogs',
      'readConfig',
      'readRendered',
      'createEnvironment',
      'listHeld',
      'listTokens',
      'listAudit',
    ];
    expect(succeeded(findings).filter((name) => forbidden.includes(name))).toEqual([]);
  });

  it('ends a token as it says', { timeout: 100_000 }, async () => {
    const token = await createToken('developer', 'write');
    const { statuses } = await check({ token, examples: 10, only: ['endSession'], without: [] });
    expect([...(statuses.get('endSession') ?? [])]).toEqual(expect.arrayContaining([200, 401]));
  });

  it('removes environments as it says', { timeout: 200_000 }, async () => {
    const known = { 'path.id': environments.map(({ id }) => id), 'query.force': ['true', 'false'] };
    const findings = await check({ token: adminToken(), known, examples: 30, only: ['removeEnvironment'], without: [] });
    expect(succeeded(findings)).toEqual(['removeEnvironment']);
    for (const { source } of environments) await harness.untilGone(source.name);
  });

  it.each(['exec?command=ls', 'port-forward?port=80'])('answers a plain request for %s as it says', async (asked) => {
    const [one] = environments;
    const [what = ''] = asked.split('?');
    for (const path of [`/api/v1/environments/${one?.id}/${asked}`, `/api/v1/environments/none/${what}`]) {
      const { status, body } = await harness.api(path);
      const described = JSON.parse(target.description) as { paths: Record<string, { get: { responses: object } }> };
      expect(Object.keys(described.paths[`/api/v1/environments/{id}/${what}`]?.get.responses ?? {})).toContain(String(status));
      expect(problemSchema.parse(JSON.parse(body)).status).toBe(status);
    }
  });

  // The last one: from then on, ephd answers 429 to refused requests of this address.
  it('answers somebody who is not signed in as it says', { timeout: 200_000 }, async () => {
    const findings = await check({ examples: 2, perSecond: 9 });
    expect(succeeded(findings).toSorted()).toEqual(['readHealth', 'readPage', 'readReadiness']);
  });
});
