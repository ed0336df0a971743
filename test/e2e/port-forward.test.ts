import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type EnvironmentView, eventListSchema, newTokenSchema } from '@eph/contract';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { EphdHarness } from './ephd-harness.ts';
import { app, twoServices } from './sample-app.ts';

const main = join(import.meta.dirname, '../../apps/eph/main.ts');
const person = (name: string): string => `https://id.example.com#${name}`;

let harness: EphdHarness;
let environment: EnvironmentView;
/** Of the component that answers requests. */
let port: string;

beforeAll(async () => {
  harness = await EphdHarness.create();
  const config = join(harness.folder, 'ephd.yaml');
  const rules = ['developer', 'viewer'].map((role) => ({ who: { person: person(role) }, role }));
  const projects = [{ name: 'shop', trusted: true, location: harness.repository.path }];
  await writeFile(config, JSON.stringify({ projects, access: { rules } }));
  await harness.start({ projects: [], args: ['--config', config] });
  environment = await harness.untilReady('preview/one', await harness.repository.push('preview/one', app(twoServices)));
  port = environment.components.find(({ entry }) => entry)?.outputs['port'] ?? '';
});
afterAll(() => harness[Symbol.asyncDispose]());

const startEph = async (args: readonly string[], token?: string) => {
  const env = {
    PATH: process.env['PATH'],
    HOME: harness.folder,
    XDG_STATE_HOME: harness.stateFolder,
    EPH_SERVER: `http://127.0.0.1:${harness.apiPort}`,
    ...(token !== undefined && { EPH_TOKEN: token }),
  };
  const child = spawn(process.execPath, [main, 'port-forward', ...args], { env, stdio: 'pipe' });
  onTestFinished(() => void child.kill('SIGKILL'));
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk) => (out += String(chunk)));
  child.stderr.on('data', (chunk) => (err += String(chunk)));
  await expect.poll(() => out, { timeout: 20_000 }).toContain('\n');
  const url = `http://${/127\.0\.0\.1:\d+/.exec(out)?.[0]}/`;
  return { child, url, errors: () => err };
};

const createToken = async (role: string) => {
  const body = JSON.stringify({ person: person(role), scope: 'write', for: '1h' });
  return newTokenSchema.parse(JSON.parse((await harness.api('/api/v1/tokens', { method: 'POST', body })).body));
};

const get = (url: string): Promise<string> => fetch(url, { headers: { connection: 'close' } }).then((answer) => answer.text());

describe('port-forward', () => {
  it('leads to the component, whatever version of it serves, and ends with Ctrl-C', async () => {
    const { child, url } = await startEph([environment.name, `0:${port}`]);
    const answers = await Promise.all(Array.from({ length: 10 }, () => get(url)));
    expect(new Set(answers).size).toBe(1);
    expect(answers[0]).not.toBe('');
    const exited = once(child, 'exit');
    child.kill('SIGINT');
    expect(await exited).toEqual([0, null]);
    await expect(get(url)).rejects.toThrow('fetch failed');
  });

  it('says that nothing listens, and goes on', async () => {
    const { url, errors } = await startEph([environment.name, 'web', '0:1']);
    await expect(get(url)).rejects.toThrow('fetch failed');
    await expect.poll(errors).toContain('web does not listen on port 1');
  });

  it('is for developers, is in the audit history, and ends with the token', async () => {
    const viewer = await createToken('viewer');
    const refused = await startEph([environment.name, `0:${port}`], viewer.token);
    await expect(get(refused.url)).rejects.toThrow('fetch failed');
    await expect.poll(refused.errors).toContain('environments.connect');
    const developer = await createToken('developer');
    const { url, errors } = await startEph([environment.name, `0:${port}`], developer.token);
    await get(url);
    const details = { permission: 'environments.connect', outcome: 'done', component: 'web', port: Number(port) };
    const readDetails = async () => (await harness.read('/api/v1/audit', eventListSchema)).events.map((one) => one.details);
    await expect.poll(readDetails).toContainEqual(expect.objectContaining(details));
    expect((await harness.api(`/api/v1/tokens/${developer.id}`, { method: 'DELETE' })).status).toBe(200);
    await expect(get(url)).rejects.toThrow('fetch failed');
    await expect.poll(errors).toContain('revoked');
  });

  it('needs an upgrade', async () => {
    const { status, body } = await harness.api(`/api/v1/environments/${environment.id}/port-forward?port=${port}`);
    expect([status, body]).toEqual([400, expect.stringContaining('needs a WebSocket')]);
    expect((await harness.api(`/api/v1/environments/${environment.id}/port-forward`)).status).toBe(400);
  });
});

describe('logs of the run before', () => {
  it('are those of the version before, and nothing where there was none', async () => {
    const read = async (): Promise<string> => {
      const answer = await harness.api(`/api/v1/environments/${environment.id}/logs?previous=true&follow=true`);
      return answer.body;
    };
    expect(await read()).not.toContain('data:');
  });
});
