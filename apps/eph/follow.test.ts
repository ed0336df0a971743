import type { EventView, StreamItem } from '@eph/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeEphd, fakeComponent, fakeEnvironment, fakeLogLine, startFakeEphd } from './ephd.fake.ts';
import { exitCodes } from './exit-codes.ts';
import { eph, type Session, type SessionOptions, startEph } from './terminal.fake.ts';

let ephd: FakeEphd;
const sessions: Session[] = [];

beforeEach(async () => {
  ephd = await startFakeEphd();
  ephd.environments = [fakeEnvironment()];
});
afterEach(async () => {
  for (const session of sessions.splice(0)) session.interrupt();
  await ephd.close();
});

const start = (args: readonly string[], options: SessionOptions = {}): Session => {
  const session = startEph([...args, '--server', ephd.address], options);
  sessions.push(session);
  return session;
};

const until = async (check: () => unknown): Promise<void> => {
  await expect.poll(() => Boolean(check()), { timeout: 20_000, interval: 10 }).toBe(true);
};

describe('logs', () => {
  it('shows what is there, each line with its component', async () => {
    ephd.logs = [fakeLogLine('web', 'listening'), fakeLogLine('database', 'ready'), fakeLogLine('web', 'GET /')];
    const { code, out } = await eph(['logs', 'preview/login', '--server', ephd.address]);
    expect(code).toBe(exitCodes.ok);
    expect(out).toBe('web | listening\ndatabase | ready\nweb      | GET /\n');
  });

  it('shows what components share under its own name', async () => {
    ephd.logs = [{ ...fakeLogLine('web', 'added 12 packages'), part: 'prepare', shared: true }, fakeLogLine('web', 'listening')];
    const { out } = await eph(['logs', 'preview/login', '--server', ephd.address]);
    expect(out).toBe('prepare | added 12 packages\nweb     | listening\n');
  });

  it('asks for one component, and for so many lines', async () => {
    ephd.logs = [fakeLogLine('web', 'listening'), fakeLogLine('db', 'ready')];
    const { out } = await eph(['logs', 'shop', '--component', 'db', '--tail', '5', '--server', ephd.address]);
    expect(out).toBe('ready\n');
    expect(ephd.requests.at(-1)).toBe('GET /api/v1/environments/0123456789abcdef/logs?component=db&tail=5');
  });

  it('asks for the run before, which cannot be followed', async () => {
    ephd.logs = [fakeLogLine('web', 'crashed')];
    const args = ['logs', 'shop', '--previous', '--server', ephd.address];
    expect((await eph(args)).out).toBe('web | crashed\n');
    expect(ephd.requests.at(-1)).toBe('GET /api/v1/environments/0123456789abcdef/logs?previous=true');
    expect(await eph([...args, '--follow'])).toMatchObject({ code: exitCodes.usage, err: expect.stringContaining('--previous') });
  });

  it('asks for what was written since a time, and prints the time of each line', async () => {
    ephd.logs = [fakeLogLine('web', 'before'), fakeLogLine('web', 'after', '2026-11-15T09:04:00.000Z')];
    const args = ['logs', 'shop', '--since', '10m', '--timestamps', '--server', ephd.address];
    expect((await eph(args)).out).toBe('web | - before\nweb | 2026-11-15T09:04:00Z after\n');
    expect(ephd.requests.at(-1)).toBe('GET /api/v1/environments/0123456789abcdef/logs?since=10m');
    expect((await eph([...args, '-c', 'web'])).out).toBe('- before\n2026-11-15T09:04:00Z after\n');
  });

  it('prints one JSON document per line for programs', async () => {
    ephd.logs = [fakeLogLine('web', 'a "quoted"\x1b[2J'), fakeLogLine('db', '')];
    const { out } = await eph(['logs', 'shop', '--json', '--server', ephd.address]);
    expect(
      out
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toStrictEqual(ephd.logs);
  });

  it('lets a service neither clear the screen nor colour it, unless asked to or piped', async () => {
    const line = '\x1b[31mred\x1b[0m\t\x1b[2Jgone\x1b]0;title\x07';
    ephd.logs = [fakeLogLine('web', line)];
    const args = ['logs', 'shop', '-c', 'web', '--server', ephd.address];
    expect((await eph(args, { isTTY: true })).out).toBe('red\t\\x1b[2Jgone\\x1b]0;title\\x07\n');
    expect((await eph([...args, '--raw'], { isTTY: true })).out).toBe(`${line}\n`);
    expect((await eph(args)).out).toBe(`${line}\n`);
  });

  it('follows until Ctrl-C, which is a good end', async () => {
    ephd.logs = [fakeLogLine('web', 'before')];
    const session = start(['logs', 'shop', '-f']);
    await until(() => session.stdout.text.includes('before'));
    ephd.log(fakeLogLine('web', 'after'));
    await until(() => session.stdout.text.includes('after'));
    session.interrupt();
    expect(await session.ended).toBe(exitCodes.ok);
    expect(session.stderr.text).toBe('');
    await until(() => ephd.followers.size === 0);
  });

  it('says when the connection is lost', async () => {
    const session = start(['logs', 'shop', '-f']);
    await until(() => ephd.followers.size === 1);
    for (const follower of ephd.followers) follower.destroy();
    expect(await session.ended).toBe(exitCodes.unreachable);
    expect(session.stderr.text).toContain(`The connection to ephd at ${ephd.address} was lost`);
  });

  it('says why ephd ends it', async () => {
    const session = start(['logs', 'shop', '-f']);
    await until(() => ephd.followers.size === 1);
    ephd.endStreams('api.forbidden', 'ephd.yaml:3 denies everything in project shop');
    expect(await session.ended).toBe(exitCodes.signIn);
    expect(session.stderr.text).toBe('eph: ephd ended the stream: ephd.yaml:3 denies everything in project shop.\n');
    const other = start(['logs', 'shop', '-f', '--json']);
    await until(() => ephd.followers.size === 1);
    ephd.endStreams('api.stopping', 'ephd is stopping');
    expect(await other.ended).toBe(exitCodes.unreachable);
    expect(JSON.parse(other.stderr.text)).toMatchObject({ error: { code: 'api.stopping' } });
  });

  it('says when ephd ends what was to be followed', async () => {
    const session = start(['logs', 'shop', '-f']);
    await until(() => ephd.followers.size === 1);
    for (const follower of ephd.followers) follower.end();
    expect(await session.ended).toBe(exitCodes.ok);
    expect(session.stderr.text).toContain('The log ended');
  });
});

describe('events --follow', () => {
  const eventOf = (number: number, message: string): EventView => ({
    id: String(number).padStart(16, '0'),
    at: '2026-11-15T09:00:00.000Z',
    type: 'status.changed',
    project: 'shop',
    environment: '0123456789abcdef',
    message,
    details: { name: 'shop-serene-ocean-4207' },
  });
  const change = (number: number, message: string, changes: Partial<EventView> = {}): StreamItem => ({
    type: 'event',
    event: { ...eventOf(number, message), ...changes },
  });
  const line = (message: string): string => `2026-11-15T09:00:00Z  shop-serene-ocean-4207  status.changed  ${message}`;

  it('prints past events and goes on after them', async () => {
    ephd.events = { events: [eventOf(1, 'one'), eventOf(2, 'two')] };
    const session = start(['events', '--follow', '-n', '2', '--project', 'shop']);
    await until(() => ephd.followers.size === 1);
    expect(ephd.requests).toEqual([
      'GET /api/v1/events?limit=2&project=shop',
      'GET /api/v1/stream?project=shop&after=0000000000000002',
    ]);
    ephd.change({ type: 'status', environment: 'x', name: 'x', project: 'shop', phase: 'Ready', summary: '' });
    ephd.change(change(3, 'three\x1b[2J'));
    await until(() => session.stdout.text.includes('three'));
    session.interrupt();
    expect(await session.ended).toBe(exitCodes.ok);
    expect(session.stdout.text.split('\n')).toEqual([line('one'), line('two'), line('three\\x1b[2J'), '']);
    expect(session.stderr.text).toBe('');
  });

  it('prints only what matches, as JSON lines for programs', async () => {
    const args = ['events', 'shop', '-f', '-n', '0', '--type', 'status.changed', 'ephd.started', '--text', 'NEW', '--json'];
    const session = start(args);
    await until(() => ephd.followers.size === 1);
    expect(ephd.requests.at(-1)).toBe('GET /api/v1/stream?environment=0123456789abcdef');
    ephd.change(change(1, 'old'));
    ephd.change(change(2, 'new, of another type', { type: 'environment.wanted' }));
    ephd.change(change(3, 'new'));
    await until(() => session.stdout.text.includes('new'));
    session.interrupt();
    await session.ended;
    expect(JSON.parse(session.stdout.text)).toEqual(eventOf(3, 'new'));
  });

  it('goes on where it was after a loss of the connection, and after a restart of ephd', async () => {
    const session = start(['events', '-f', '-n', '0']);
    await until(() => ephd.followers.size === 1);
    ephd.change(change(7, 'before'));
    ephd.change({ type: 'event', event: { ...eventOf(0, 'not stored'), id: null } });
    await until(() => session.stdout.text.includes('not stored'));
    for (const follower of ephd.followers) follower.destroy();
    await until(() => ephd.requests.at(-1) === 'GET /api/v1/stream?after=0000000000000007' && ephd.followers.size === 1);
    expect(session.stderr.text).toMatch(/^The connection to ephd at .* was lost: .*\. Trying again\.\n$/);
    ephd.change(change(8, 'between'));
    await until(() => session.stdout.text.includes('between'));
    ephd.endStreams('api.stopping', 'ephd is stopping');
    await until(() => session.stderr.text.includes('ephd ended the stream: ephd is stopping. Trying again.'));
    await ephd.close();
    ephd = await startFakeEphd(Number(new URL(ephd.address).port));
    ephd.changes = [{ type: 'history', reachable: false, message: 'the disk is full' }, change(9, 'after')];
    await until(() => session.stdout.text.includes('after'));
    expect(ephd.requests).toEqual(['GET /api/v1/stream?after=0000000000000008']);
    expect(session.stderr.text).toContain('History cannot be read: the disk is full');
  });

  it('ends with the reason when the caller may not go on', async () => {
    const session = start(['events', '-f']);
    await until(() => ephd.followers.size === 1);
    ephd.endStreams('api.unauthorized', 'the token has expired');
    expect(await session.ended).toBe(exitCodes.signIn);
    expect(session.stderr.text).toBe('eph: ephd ended the stream: the token has expired.\n');
  });
});

describe('status --watch', () => {
  const fast = ['--watch', '--interval', '0.1'];
  const progressing = fakeEnvironment({ phase: 'Progressing', summary: 'web is starting', components: [fakeComponent()] });

  it('prints into a pipe only what changes', async () => {
    ephd.environments = [progressing];
    const session = start(['status', ...fast]);
    await until(() => session.stdout.text.includes('Progressing'));
    const asked = ephd.requests.length;
    await until(() => ephd.requests.length > asked + 2);
    const usage = { cpuSeconds: 99, cpuCores: null, memoryBytes: 1 };
    ephd.environments = [fakeEnvironment({ components: [fakeComponent({ usage })] })];
    await until(() => session.stdout.text.includes('Ready'));
    ephd.environments = [];
    await until(() => session.stdout.text.includes('gone'));
    session.interrupt();
    expect(await session.ended).toBe(exitCodes.ok);
    expect(session.stdout.text.split('\n').map((line) => line.replace('2026-11-15T09:05:00Z  ', ''))).toStrictEqual([
      'shop-serene-ocean-4207  Progressing  web is starting',
      'shop-serene-ocean-4207/web  ready  1a2b3c4d',
      'shop-serene-ocean-4207  Ready  the wanted version answers',
      'shop-serene-ocean-4207  gone',
      'shop-serene-ocean-4207/web  gone',
      '',
    ]);
  });

  it('prints a JSON document per change for programs', async () => {
    ephd.environments = [progressing];
    const session = start(['status', 'shop', '--json', ...fast]);
    await until(() => session.stdout.text !== '');
    ephd.environments = [fakeEnvironment()];
    await until(() => session.stdout.text.includes('"phase":"Ready"'));
    session.interrupt();
    await session.ended;
    const documents = session.stdout.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(documents).toStrictEqual([progressing, fakeEnvironment()]);
  });

  it('draws the screen anew on a terminal and stays within it', async () => {
    const rows = 12;
    ephd.environments = Array.from({ length: 50 }, (_, index) => fakeEnvironment({ id: index.toString(16).padStart(16, '0') }));
    const session = start(['status', ...fast], { isTTY: true, rows });
    await until(() => session.stdout.text.split('\x1b[H').length > 2);
    session.interrupt();
    expect(await session.ended).toBe(exitCodes.ok);
    const [before = '', ...frames] = session.stdout.text.split('\x1b[H');
    expect(before).toContain('\x1b[2J');
    for (const frame of frames) expect(frame.split('\n').length).toBeLessThanOrEqual(rows);
    expect(frames[0]).toContain('more lines');
  });

  it('waits for an ephd that restarts', async () => {
    const session = start(['status', 'shop', ...fast]);
    await until(() => session.stdout.text.includes('Ready'));
    await ephd.close();
    await until(() => session.stderr.text.includes('Still trying.'));
    ephd = await startFakeEphd(Number(new URL(ephd.address).port));
    ephd.environments = [progressing];
    await until(() => session.stdout.text.includes('Progressing'));
    expect(session.stderr.text.match(/Still trying/g)).toHaveLength(1);
  });

  it('ends when the one environment is gone', async () => {
    const session = start(['status', 'shop', ...fast]);
    await until(() => session.stdout.text.includes('Ready'));
    ephd.environments = [];
    expect(await session.ended).toBe(exitCodes.ok);
    expect(session.stderr.text).toBe('shop-serene-ocean-4207 is gone.\n');
  });

  it('fails like any other command when ephd is not there to begin with', async () => {
    await ephd.close();
    expect(await start(['status', ...fast]).ended).toBe(exitCodes.unreachable);
  });
});
