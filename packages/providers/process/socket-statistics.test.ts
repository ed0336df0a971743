import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SocketStatistics } from './socket-statistics.ts';

const hasSs = (process.env['PATH'] ?? '').split(':').some((folder) => existsSync(join(folder, 'ss')));

const open = (): SocketStatistics => {
  const statistics = new SocketStatistics();
  onTestFinished(() => statistics.close());
  return statistics;
};

/** The shells that this process has started. */
const shells = (): readonly number[] =>
  execFileSync('ps', ['-o', 'pid=,args=', '--ppid', String(process.pid)], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes('while read -r _'))
    .map((line) => Number.parseInt(line, 10));

describe.skipIf(!hasSs)(`the listening sockets${hasSs ? '' : ' [skipped here: there is no ss]'}`, () => {
  it('are read again and again by one shell', async () => {
    const statistics = open();
    for (let turn = 0; turn < 3; turn += 1) {
      const server = createServer().listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      expect((await statistics.read())?.join('\n')).toContain(`127.0.0.1:${port} `);
      server.close();
      await once(server, 'close');
      expect((await statistics.read())?.join('\n')).not.toContain(`127.0.0.1:${port} `);
    }
    expect(shells()).toHaveLength(1);
  });

  it('are read by another shell when the first was killed', async () => {
    const statistics = open();
    await statistics.read();
    const [first] = shells();
    process.kill(first ?? 0, 'SIGKILL');
    for (let turn = 0; turn < 5; turn += 1) await statistics.read();
    expect(await statistics.read()).toBeDefined();
    expect(shells()).not.toContain(first);
  });

  it('are not read any more after the end, which leaves no shell', async () => {
    const statistics = open();
    await statistics.read();
    statistics.close();
    expect(await statistics.read()).toBeUndefined();
    await expect.poll(shells).toEqual([]);
  });
});
