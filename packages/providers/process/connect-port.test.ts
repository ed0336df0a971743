import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { ResolvedComponent } from '@eph/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { findSandbox } from './bubblewrap.ts';
import { identity, never, ProcessHarness, run } from './process-harness.fake.ts';

const folder = mkdtempSync(join(tmpdir(), 'eph-connect-'));
const { isolation } = findSandbox({ folder, tools: [], network: 'shared', reach: [] });
rmSync(folder, { recursive: true });
const why = isolation.state === 'trusted' ? isolation.because : isolation.lacks.network;

const free = async (host?: string): Promise<{ readonly port: number; close(): Promise<void> }> => {
  const server = createServer((socket) => socket.end('stranger'));
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as { port: number };
  return { port, close: () => new Promise((resolve) => server.close(() => resolve())) };
};

const start = async (values: Partial<ResolvedComponent['values']>, network?: ResolvedComponent['network']) => {
  const harness = new ProcessHarness();
  onTestFinished(() => harness[Symbol.asyncDispose]());
  const wanted = { ...harness.component('web', 1, { command: run('answer.mjs'), ...values }), ...(network && { network }) };
  await harness.provider.ensure(identity, wanted, never);
  const { outputs } = await harness.untilReady(wanted);
  const connect = (port: number) => harness.provider.connect(identity.id, wanted.name, port, never);
  return { connect, port: Number(outputs['port']) };
};

/** Listens on a second port, in a process of its own, and answers when the other side has sent everything. */
const second = (host: string): string =>
  `'${process.execPath}' -e 'require("net").createServer({ allowHalfOpen: true }, (one) => {
    let text = ""; one.on("data", (chunk) => (text += chunk)); one.on("end", () => one.end("heard " + text));
  }).listen(Number(process.env.SECOND), "${host}")' & exec '${process.execPath}' answer.mjs`;

describe('a connection to a port of a process', () => {
  it.each(['127.0.0.1', '::1', '0.0.0.0'])('reaches every port that one of its processes listens on, on %s', async (host) => {
    const { port, close } = await free();
    await close();
    const { connect } = await start({ command: second(host), env: { SECOND: String(port) } });
    await expect.poll(async () => connect(port).then((one) => text(one.end('you'))), { timeout: 10_000 }).toBe('heard you');
  });

  it('never reaches another program of the machine', async () => {
    const { port, close } = await free('127.0.0.1');
    onTestFinished(close);
    const { connect } = await start({});
    await expect(connect(port)).rejects.toMatchObject({ code: 'component.not_ready' });
  });
});

describe.skipIf(why !== undefined)(
  `a connection into a network of its own${why === undefined ? '' : ` [skipped here: ${why}]`}`,
  () => {
    it('reaches the port that is open, and says so for the others', async () => {
      const { connect, port } = await start({}, { reaches: [] });
      expect(await text((await connect(port)).end('GET / HTTP/1.0\r\n\r\n'))).toMatch(/ 200 OK/);
      await expect(connect(port + 1)).rejects.toMatchObject({
        code: 'feature.unavailable',
        message: expect.stringContaining(`on port ${port} only`),
      });
    });
  },
);
