import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { until } from './process-harness.fake.ts';
import { SessionControl } from './session-control.ts';

/** The control of a session, and the end of its pipe in the sandbox. */
const start = async () => {
  const path = join(tmpdir(), `eph-control-${process.pid}-${Math.random()}`);
  const server = createServer().listen(path);
  await once(server, 'listening');
  const near = connect(path);
  const [far] = (await once(server, 'connection')) as [Socket];
  onTestFinished(() => {
    for (const one of [near, far]) one.destroy();
    server.close();
  });
  let received = '';
  far.on('data', (chunk) => (received += String(chunk)));
  return { control: new SessionControl(near), near, far, received: () => received };
};

describe('the control of a session', () => {
  it('lets the command run when it is told to, and not before', async () => {
    const { control, far, received } = await start();
    far.write('\n');
    await control.ready;
    expect(received()).toBe('');
    control.begin();
    await until('it may run', () => received() === 'go\n');
  });

  it('sends the last size once the terminal has a name', async () => {
    const { control, far, received } = await start();
    control.resize(80, 24);
    control.resize(132, 43);
    far.write('/dev/pts/');
    far.write('7\n');
    await until('it has a size', () => received().endsWith('\n'));
    expect(received()).toBe('/dev/pts/7 43 132\n');
  });

  it.each(['/dev/pts/../../etc/passwd', '/dev/pts/1 1 1; id', '/tmp/pts'])('takes %s for no terminal', async (name) => {
    const { control, far, received } = await start();
    far.write(`${name}\n\n`);
    await control.ready;
    control.resize(80, 24);
    control.begin();
    await until('something came', () => received() !== '');
    expect(received()).toBe('go\n');
  });

  it('reads no more than a report', async () => {
    const { near, far } = await start();
    far.on('error', () => undefined).write('x'.repeat(1_000_000));
    await until('it hung up', () => near.destroyed);
    expect(near.bytesRead).toBeLessThan(200_000);
  });

  it('keeps one size while nobody takes any', async () => {
    const { control, near, far, received } = await start();
    far.write('/dev/pts/0\n');
    control.resize(1, 1);
    await until('it has a name', () => received() !== '');
    far.pause();
    for (let columns = 1; columns <= 200_000; columns += 1) control.resize(columns, 9);
    expect(near.writableLength).toBeLessThan(100_000);
    far.resume();
    await until('the last one came', () => received().endsWith('/dev/pts/0 9 200000\n'));
  });
});
