import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { allParts } from './all-parts.ts';
import { describeWith } from './describe-with.ts';
import { nginx } from './nginx.ts';
import { postgres } from './postgres.ts';
import { processesIn } from './processes-in.ts';

describeWith(postgres, 'postgres', () => {
  it('is started ready for use, and stopping it leaves no process and no folder', async () => {
    const running = await postgres.start();
    onTestFinished(() => running.stop());
    expect(await running.createDatabase()).toMatch(/^postgres:\/\/eph:\w+@127\.0\.0\.1:\d+\/eph_1$/);
    expect(processesIn(running.folder)).not.toEqual([]);
    await running.stop();
    await running.stop();
    expect(processesIn(running.folder)).toEqual([]);
    expect(existsSync(running.folder)).toBe(false);
  });

  it('runs several independent instances', async () => {
    const [one, other] = await Promise.all([postgres.start(), postgres.start()]);
    onTestFinished(async () => void (await Promise.all([one.stop(), other.stop()])));
    expect(one.port).not.toBe(other.port);
    expect(one.folder).not.toBe(other.folder);
  });

  it('resumes with its data on the same port after a halt', async () => {
    const running = await postgres.start();
    onTestFinished(() => running.stop());
    const first = await running.createDatabase();
    await running.halt();
    expect(processesIn(running.folder)).toEqual([]);
    await running.resume();
    const second = await running.createDatabase();
    expect(second.replace('eph_2', 'eph_1')).toBe(first);
  });

  it('ends when the process that started it is killed', async () => {
    const script = `
      const { postgres } = await import(${JSON.stringify(join(import.meta.dirname, 'postgres.ts'))});
      console.log((await postgres.start()).folder);
      setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
    const folder = line.trim();
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    expect(processesIn(folder)).not.toEqual([]);
    child.kill('SIGKILL');
    await expect.poll(() => processesIn(folder)).toEqual([]);
  });
});

describeWith(nginx, 'nginx', () => {
  it('proxies requests, and stopping it leaves no process and no folder', async () => {
    const upstream = createServer((_request, response) => response.end('from upstream')).listen(0, '127.0.0.1');
    await once(upstream, 'listening');
    onTestFinished(() => upstream.close().closeAllConnections());
    const running = await nginx.start({ upstreamPort: (upstream.address() as AddressInfo).port });
    onTestFinished(() => running.stop());
    expect(await (await fetch(running.url)).text()).toBe('from upstream');
    await running.stop();
    expect(processesIn(running.folder)).toEqual([]);
    expect(existsSync(running.folder)).toBe(false);
    await expect(fetch(running.url)).rejects.toThrow('fetch failed');
  });

  it('leaves nothing behind if it cannot start, and reports why', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'eph-parts-test-'));
    await chmod(folder, 0o755);
    vi.stubEnv('TMPDIR', folder);
    onTestFinished(async () => {
      vi.unstubAllEnvs();
      await rm(folder, { recursive: true });
    });
    await expect(nginx.start({ upstreamPort: 70_000 })).rejects.toThrow(/invalid port/);
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('npm run parts', () => {
  const run = async (...args: string[]): Promise<{ code: number; out: string }> => {
    const child = spawn(process.execPath, [join(import.meta.dirname, 'main.ts'), ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    let out = '';
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (out += text));
    const [code] = (await once(child, 'close')) as [number];
    return { code, out };
  };

  it('lists every part with its location, or why it is missing and how to get it', async () => {
    const { code, out } = await run('--list');
    expect(code).toBe(0);
    for (const part of allParts) {
      const finding = part.find();
      expect(out).toContain(finding.found ? finding.where : finding.reason);
      expect(out).toMatch(new RegExp(`^${finding.found ? 'here' : 'missing'} +${part.name} `, 'm'));
    }
  });

  it('prints its help', async () => {
    expect(await run('--help')).toMatchObject({ code: 0, out: expect.stringContaining('--get all') });
  });

  it.each([
    [['--get', 'oracle'], 'There is no part called oracle'],
    [['--get'], 'Which part?'],
    [['--git'], "Unknown option '--git'"],
  ])('refuses %j and prints its usage', async (args, sentence) => {
    const { code, out } = await run(...args);
    expect(code).toBe(2);
    expect(out).toContain(sentence);
    expect(out).toMatch(/postgres, nginx/);
  });
});
