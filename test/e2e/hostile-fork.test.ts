import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { GithubEmulator } from '../parts/github/github-emulator.ts';
import { EphdHarness } from './ephd-harness.ts';
import { eventually } from './eventually.ts';
import { labelledApp, textsOf } from './labelled-app.ts';
import type { Files } from './sample-repository.ts';

/** What a pull request of somebody unknown may contain: it tries everything that it can think of, and publishes what it finds. */
const attack = `
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { readdirSync, readFileSync } from 'node:fs';
const found = {};
const attempt = async (name, work) => {
  try { found[name] = String(await work()); } catch (error) { found[name] = 'failed ' + (error.code ?? error.message); }
};
const reach = (...target) => new Promise((resolve, reject) => {
  const socket = connect(...target);
  socket.setTimeout(2000, () => reject(new Error('timeout')));
  socket.once('connect', () => socket.once('close', () => resolve('closed')).once('data', (data) => resolve(data)));
  socket.once('error', reject);
});
const targets = JSON.parse(readFileSync('targets.json', 'utf8'));
await attempt('environ', () => readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name))
  .map((pid) => { try { return readFileSync('/proc/' + pid + '/environ', 'utf8'); } catch { return ''; } }).join(' '));
await attempt('configuration', () => readFileSync(targets.configuration, 'utf8'));
await attempt('data', () => readdirSync(targets.data).join());
await attempt('token', () => readdirSync(targets.state).join());
await attempt('database', () => reach(targets.database, '127.0.0.1'));
await attempt('api', () => reach(targets.api, '127.0.0.1'));
await attempt('metadata', () => reach(80, '169.254.169.254'));
await attempt('socket', () => reach(String.fromCharCode(0) + targets.socket));
createServer((request, response) => response.end(JSON.stringify(found))).listen(Number(process.env.PORT), '127.0.0.1');
`;

const listen = async (address: { readonly host: string; readonly port: number } | string): Promise<number> => {
  const server = createServer((socket) => socket.on('error', () => undefined).end('a secret of the machine'));
  onTestFinished(() => void server.close());
  await once(server.listen(address), 'listening');
  const bound = server.address();
  return typeof bound === 'object' && bound !== null ? bound.port : 0;
};

/** A repository of alice on GitHub, and an ephd that is not started yet. */
const setUp = async (stack: AsyncDisposableStack, files: Files) => {
  const github = stack.use(await GithubEmulator.start());
  const harness = stack.use(await EphdHarness.create());
  for (const name of ['alice', 'mallory']) github.createUser(name);
  github.createOrganization('acme');
  github.setMember('acme', 'alice', 'admin');
  const repository = github.createRepository('acme/shop', { files: textsOf(files), by: 'alice' });
  const config = join(harness.folder, 'ephd.yaml');
  await writeFile(
    config,
    JSON.stringify({
      forges: { work: { type: 'github', url: github.url, token: { from: 'TOKEN' } } },
      projects: [{ name: 'shop', trusted: true, forks: 'base', forge: 'work', location: 'acme/shop' }],
    }),
  );
  const token = github.createToken({ by: 'alice' });
  const start = () => harness.start({ projects: [], args: ['--config', config], env: { TOKEN: token } });
  return { harness, repository, config, token, start };
};

/** An ephd that has seen the pull request, and what came of it. */
const openPullRequest = async (stack: AsyncDisposableStack) => {
  const { harness, repository, config, token, start } = await setUp(stack, labelledApp());
  const socket = `eph-e2e-${process.pid}`;
  await listen(`\0${socket}`);
  const targets = {
    configuration: config,
    data: harness.dataFolder,
    state: join(harness.folder, 'state'),
    database: await listen({ host: '127.0.0.1', port: 0 }),
    api: harness.apiPort,
    socket,
  };
  const fork = repository.fork('mallory');
  fork.push('patch', { 'answer.mjs': attack, 'targets.json': JSON.stringify(targets) }, { by: 'mallory' });
  const pull = repository.openPullRequest({ head: 'mallory:patch', by: 'mallory' });
  pull.label('preview', { by: 'alice' });
  await start();
  const environment = await eventually('it is ready or failed', async () => {
    const [first] = await harness.environments();
    return first !== undefined && ['Ready', 'Failed'].includes(first.phase) && first;
  });
  return { harness, token, environment };
};

/** Writes into every package cache that it is given, and answers with what it found there. */
const poisonous: Files = {
  'eph.yaml': JSON.stringify({
    version: '1.0',
    name: 'shop',
    triggers: [{ type: 'pr_label', labels: ['preview'] }],
    process: { prepare: 'sh prepare.sh', services: { web: { command: [process.execPath, 'page.mjs'], ready: { http: '/' } } } },
  }),
  'prepare.sh':
    'for folder in "$npm_config_cache" "$PIP_CACHE_DIR" "$GOCACHE"; do cat "$folder/cached"; done > found 2>/dev/null || true\n',
  'page.mjs': `
    import { createServer } from 'node:http';
    import { readFileSync } from 'node:fs';
    createServer((_, response) => response.end('found: ' + readFileSync('found', 'utf8'))).listen(Number(process.env.PORT), '127.0.0.1');
  `,
};

const isRoot = process.getuid?.() === 0;

/** Root has no sandbox, and an ordinary user has one: `ordinary-user.test.ts` runs what root skips. */
describe('a labelled pull request from a fork', () => {
  it.skipIf(!isRoot)('of root does not run, for there is no sandbox', { timeout: 120_000 }, async () => {
    await using stack = new AsyncDisposableStack();
    const { harness, environment } = await openPullRequest(stack);
    expect(environment).toMatchObject({
      phase: 'Failed',
      summary: expect.stringContaining('provider process has no sandbox, so it runs no pull requests from forks'),
    });
    expect(harness.services()).toEqual([]);
  });

  it.skipIf(isRoot)('of an ordinary user finds nothing of ephd and of the machine', { timeout: 120_000 }, async () => {
    await using stack = new AsyncDisposableStack();
    const { harness, environment, token } = await openPullRequest(stack);
    expect(environment).toMatchObject({ phase: 'Ready' });
    const found = JSON.parse((await harness.visit(environment.name)).body) as Record<string, string>;
    expect(found['environ']).toContain('EPH_REF');
    expect(found['environ']).not.toContain(token);
    expect(found).toMatchObject({
      configuration: 'failed ENOENT',
      data: 'failed ENOENT',
      token: 'failed ENOENT',
      database: 'failed ECONNREFUSED',
      api: 'failed ECONNREFUSED',
      metadata: 'failed EHOSTUNREACH',
      socket: 'failed ECONNREFUSED',
    });
  });

  it.skipIf(isRoot)('cannot poison the package cache of the others', { timeout: 120_000 }, async () => {
    await using stack = new AsyncDisposableStack();
    const { harness, repository, start } = await setUp(stack, poisonous);
    const fork = repository.fork('mallory');
    const poison =
      'for folder in "$npm_config_cache" "$PIP_CACHE_DIR" "$GOCACHE"; do mkdir -p "$folder"; echo poison > "$folder/cached"; done\n';
    fork.push('patch', { 'prepare.sh': `${poison}${textsOf(poisonous)['prepare.sh']}` }, { by: 'mallory' });
    repository.openPullRequest({ head: 'mallory:patch', by: 'mallory' }).label('preview', { by: 'alice' });
    await start();
    const pageOf = (ref: string) =>
      eventually(`${ref} answers`, async () => {
        const environment = (await harness.environments()).find(({ source, phase }) => source.name === ref && phase === 'Ready');
        return environment && (await harness.visit(environment.name)).body;
      });
    expect(await pageOf('1')).toBe('found: poison\npoison\npoison\n');
    repository.push('harmless', { 'README.md': 'more' }, { by: 'alice' });
    repository.openPullRequest({ head: 'harmless', by: 'alice' }).label('preview', { by: 'alice' });
    expect(await pageOf('2')).toBe('found: ');
  });
});
