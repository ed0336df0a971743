import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { newTokenSchema } from '@eph/contract';
import { EphdClient } from '../e2e/ephd-client.ts';
import { reservePort } from '../e2e/reserved-ports.ts';
import { BenchFolder, until } from './bench-ephd.ts';
import { atMost, type Figure } from './figure.ts';

const count = 1_000;
/** Each token has at most 200 streams, and a limit of requests. */
const perToken = 50;

const person = 'https://id.example.com#developer';

/** Mostly quiet: lines on their way would be measured too. */
const spec = `version: "1.0"
name: shop
process:
  services:
    web: { command: "while date; do sleep 10; done", ready: { none: true } }
`;

/** The heap of ephd after a collection, each time it is asked for. */
class HeapReader implements Disposable {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor({ config, env }: BenchFolder) {
    const program = fileURLToPath(new URL('idle-heap.program.ts', import.meta.url));
    this.#child = spawn(process.execPath, ['--expose-gc', program, config], { env, stdio: ['pipe', 'pipe', 'inherit'] });
    if (this.#child.stdout === null) throw new Error('there is no output');
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  async read(): Promise<number> {
    const next = await this.#lines.next();
    if (next.done === true) throw new Error('ephd has ended');
    return Number(next.value);
  }

  async readAgain(): Promise<number> {
    this.#child.stdin?.write('\n');
    return await this.read();
  }

  async stop(): Promise<void> {
    this.#child.stdin?.end();
    if (this.#child.exitCode === null) await once(this.#child, 'exit');
  }

  [Symbol.dispose](): void {
    this.#child.kill('SIGKILL');
  }
}

/** What a follower of a log costs ephd in memory, over real connections. */
export const measureLogFollowers = async (): Promise<readonly Figure[]> => {
  using site = new BenchFolder();
  const copy = join(site.folder, 'copy');
  mkdirSync(copy);
  site.git(site.folder, ['init', '--quiet', '--bare', '--initial-branch=main', site.origin]);
  site.git(copy, ['init', '--quiet', '--initial-branch=main']);
  writeFileSync(join(copy, 'eph.yaml'), spec);
  site.git(copy, ['add', '--all']);
  site.git(copy, ['commit', '--quiet', '--message', 'shop']);
  site.git(copy, ['push', '--quiet', site.origin, 'main:preview/one']);
  const [apiPort, gatewayPort] = [await reservePort(), await reservePort()];
  writeFileSync(
    site.config,
    JSON.stringify({
      data: 'data',
      api: { port: apiPort },
      gateway: { port: gatewayPort },
      projects: [{ name: 'shop', trusted: true, location: 'shop.git' }],
      access: { rules: [{ who: { person }, role: 'developer' }] },
    }),
  );
  using heap = new HeapReader(site);
  await heap.read();
  const ephd = new EphdClient({ apiPort, gatewayPort, stateFolder: site.env.XDG_STATE_HOME });
  const isReady = async () => (await ephd.environments()).some(({ phase }) => phase === 'Ready');
  await until('an environment', isReady, 200);
  const [environment] = await ephd.environments();
  const tokens = await Promise.all(Array.from({ length: count / perToken }, () => createToken(ephd)));
  const path = `/api/v1/environments/${environment?.id}/logs?follow=true`;
  const before = await heap.readAgain();
  const followers = tokens.flatMap((token) => Array.from({ length: perToken }, () => follow(ephd, path, token)));
  const haveLines = (): Promise<boolean> => Promise.resolve(followers.every(({ lines }) => lines > 1));
  await until('every follower has lines', haveLines, 100);
  const during = await heap.readAgain();
  const lines = followers.map((one) => one.lines);
  await until('every follower has more lines', () =>
    Promise.resolve(followers.every((one, index) => one.lines > (lines[index] ?? 0))),
  );
  for (const { close } of followers) close();
  site.git(site.origin, ['update-ref', '-d', 'refs/heads/preview/one']);
  await until('removal', async () => (await ephd.environments()).length === 0, 200);
  await heap.stop();
  return [atMost('log-followers', (during - before) / count / 1024, 64, 'KiB')];
};

const createToken = async (ephd: EphdClient): Promise<string> => {
  const body = JSON.stringify({ person, scope: 'read', for: '1h' });
  return newTokenSchema.parse(JSON.parse((await ephd.api('/api/v1/tokens', { method: 'POST', body })).body)).token;
};

const follow = (ephd: EphdClient, path: string, token: string) => {
  const follower = { lines: 0, close: () => void request.destroy() };
  const options = { host: '127.0.0.1', port: ephd.apiPort, path, agent: false, headers: { authorization: `Bearer ${token}` } };
  const request = get(options, (response) => {
    response.setEncoding('utf8').on('data', (text: string) => {
      follower.lines += text.split('data: ').length - 1;
    });
    response.on('error', () => undefined);
  });
  request.on('error', () => undefined);
  return follower;
};
