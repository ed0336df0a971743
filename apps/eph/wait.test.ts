import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CommandFailure } from './command-failure.ts';
import { repeatReading } from './commands/watch-status.ts';
import { type FakeEphd, fakeComponent, fakeEnvironment, fakeRequestAnswer, sendError, startFakeEphd } from './ephd.fake.ts';
import { exitCodes } from './exit-codes.ts';
import { type Session, startEph } from './terminal.fake.ts';

let ephd: FakeEphd;
const sessions: Session[] = [];

beforeEach(async () => {
  ephd = await startFakeEphd();
});
afterEach(async () => {
  for (const session of sessions.splice(0)) session.interrupt();
  await ephd.close();
});

const start = (...args: readonly string[]): Session => {
  const session = startEph([...args, '--wait', '--server', ephd.address]);
  sessions.push(session);
  return session;
};

const until = async (check: () => unknown): Promise<void> => {
  await expect.poll(() => Boolean(check()), { interval: 10 }).toBe(true);
};

/** Until it has been read so many times more. */
const untilRead = async (times: number): Promise<void> => {
  const before = ephd.requests.length;
  await until(() => ephd.requests.length >= before + times);
};

const isDone = async ({ ended }: Session): Promise<boolean> => Promise.race([ended.then(() => true), setImmediate(false)]);

const progressing = fakeEnvironment({ phase: 'Progressing', summary: 'web is starting' });

describe('up --wait', () => {
  it('follows an environment that does not exist yet until it is ready', async () => {
    const session = start('up', '42');
    await untilRead(3);
    ephd.environments = [progressing];
    await until(() => session.stdout.text.includes('Progressing  web is starting'));
    ephd.environments = [fakeEnvironment()];
    expect(await session.ended).toBe(exitCodes.ok);
    expect(session.stdout.text.endsWith('\nhttp://shop-serene-ocean-4207.localhost:7080\n')).toBe(true);
  });

  it('does not take the environment of an older commit for an answer', async () => {
    const older = 'd'.repeat(40);
    const conditions = fakeEnvironment().conditions.map((one) => ({ ...one, observedGeneration: older }));
    ephd.environments = [fakeEnvironment({ commit: older, conditions })];
    const session = start('up', '42', '--quiet');
    await untilRead(3);
    // The commit is noticed, and the status is still that of the one before.
    ephd.environments = [fakeEnvironment({ phase: 'Failed', conditions })];
    await untilRead(3);
    expect(await isDone(session)).toBe(false);
    ephd.environments = [fakeEnvironment()];
    expect(await session.ended).toBe(exitCodes.ok);
  });

  it('ends when waiting does not help', async () => {
    ephd.environments = [fakeEnvironment({ phase: 'Failed', summary: 'web exits at once' })];
    const session = start('up', '42');
    expect(await session.ended).toBe(exitCodes.stalled);
    expect(session.stderr.text).toContain('is Failed: web exits at once. `eph why 0123456789abcdef` explains it.');
  });

  it('ends when it is removed instead', async () => {
    ephd.environments = [progressing];
    const session = start('up', '42');
    await until(() => session.stdout.text.includes('Progressing'));
    ephd.environments = [];
    expect(await session.ended).toBe(exitCodes.notFound);
  });

  it('has a code of its own when the time is over', async () => {
    ephd.environments = [progressing];
    const late = start('up', '42', '--timeout', '1s');
    expect(await late.ended).toBe(exitCodes.timedOut);
    expect(late.stderr.text).toBe('eph: After 1s, shop-serene-ocean-4207 is Progressing: web is starting. ephd goes on.\n');
    ephd.environments = [];
    const absent = start('up', '42', '--timeout', '700ms');
    expect(await absent.ended).toBe(exitCodes.timedOut);
    expect(absent.stderr.text).toContain('there is no environment yet');
  });

  it('is not done after Ctrl-C', async () => {
    ephd.environments = [progressing];
    const session = start('up', '42');
    await until(() => session.stdout.text.includes('Progressing'));
    session.interrupt();
    expect(await session.ended).toBe(exitCodes.failure);
    expect(session.stderr.text).toBe('eph: Not waiting any more; ephd goes on.\n');
  });

  it('waits for an ephd that restarts', async () => {
    ephd.environments = [progressing];
    const session = start('up', '42');
    await until(() => session.stdout.text.includes('Progressing'));
    await ephd.close();
    await until(() => session.stderr.text.includes('Still trying.'));
    ephd = await startFakeEphd(Number(new URL(ephd.address).port));
    ephd.environments = [fakeEnvironment()];
    expect(await session.ended).toBe(exitCodes.ok);
  });
});

describe('down --wait', () => {
  it('follows until it is gone', async () => {
    ephd.environments = [fakeEnvironment({ phase: 'Removing' })];
    const [shown, quiet] = [start('down', 'shop'), start('down', 'shop', '-q')];
    await until(() => shown.stdout.text.includes('Removing'));
    await untilRead(4);
    ephd.environments = [];
    expect([await shown.ended, await quiet.ended]).toStrictEqual([exitCodes.ok, exitCodes.ok]);
    expect(shown.stdout.text).toContain('\nshop-serene-ocean-4207 is gone.\n');
    expect(quiet.stdout.text).toBe('shop-serene-ocean-4207\n');
  });

  it.each([
    ['has not read everything yet', 'api.starting'],
    ['stands by', 'api.standby'],
    ['stops', 'api.stopping'],
  ])('does not take an ephd that %s for an answer', async (_, code) => {
    ephd.environments = [fakeEnvironment({ phase: 'Removing' })];
    const session = start('down', 'shop');
    await until(() => session.stdout.text.includes('Removing'));
    ephd.instead = (_request, response) => sendError(response, 503, code, 'not now');
    await until(() => session.stderr.text.includes('not now Still trying.'));
    await untilRead(3);
    expect(await isDone(session)).toBe(false);
    ephd.environments = [];
    ephd.instead = undefined;
    expect(await session.ended).toBe(exitCodes.ok);
  });

  it('calls nothing gone that one may not see any more', async () => {
    ephd.environments = [fakeEnvironment({ phase: 'Removing' })];
    const session = start('down', 'shop');
    await until(() => session.stdout.text.includes('Removing'));
    ephd.access.decision = { ...ephd.access.decision, allowed: false };
    ephd.environments = [];
    expect(await session.ended).toBe(exitCodes.signIn);
    expect(session.stdout.text).not.toContain('is gone.');
  });

  it('ends when an operator must act', async () => {
    ephd.environments = [fakeEnvironment({ phase: 'Held', summary: 'too many at once' })];
    const session = start('down', 'shop');
    expect(await session.ended).toBe(exitCodes.stalled);
    expect(session.stderr.text).toContain('is held: too many at once.');
  });
});

describe('one slow answer', () => {
  it('ends no wait', async () => {
    const cause = new CommandFailure('api.timeout', 'there was no answer within 10 s', { exitCode: exitCodes.timedOut });
    const answers = [Promise.reject(cause), Promise.resolve({ state: 'absent' as const })];
    const read = () => answers.shift() ?? Promise.reject(new Error('this is asked too often'));
    const states: string[] = [];
    const { signal } = new AbortController();
    await repeatReading({ read, signal, intervalSeconds: 0.01 }, async ({ state }) => {
      states.push(state);
      return state === 'absent' ? true : undefined;
    });
    expect(states).toEqual(['unreachable', 'absent']);
  });
});

describe('redeploy --wait', () => {
  it('is done when every component has been made again', async () => {
    const part = (instance: string) => ({ instance, image: null, restarts: 0, message: '' });
    const web = (instance: string) => fakeComponent({ name: 'web', parts: [part(instance)] });
    const since = '2026-11-15T09:01:00.000Z';
    const db = fakeComponent({ name: 'db', parts: [] });
    const current = { revision: 'a'.repeat(16), commit: 'c'.repeat(40), health: 'ready' as const, message: '', since };
    ephd.requestAnswer = fakeRequestAnswer();
    ephd.environments = [fakeEnvironment({ components: [web('a1'), db] })];
    const session = start('redeploy', 'shop');
    await untilRead(4);
    expect(await isDone(session)).toBe(false);
    ephd.environments = [fakeEnvironment({ components: [web('b2'), fakeComponent({ ...db, current: null })] })];
    await untilRead(3);
    expect(await isDone(session)).toBe(false);
    ephd.environments = [fakeEnvironment({ components: [web('b2'), fakeComponent({ ...db, current })] })];
    expect(await session.ended).toBe(exitCodes.ok);
    expect(session.stdout.text).toContain('shop-serene-ocean-4207 is ready.\n');
  });

  it('does not take a component that could not be read for one that was made again', async () => {
    const web = (instances: readonly string[]) =>
      fakeComponent({ parts: instances.map((instance) => ({ instance, image: null, restarts: 0, message: '' })) });
    ephd.environments = [fakeEnvironment({ components: [web(['a1'])] })];
    const session = start('redeploy', 'shop', 'web');
    await untilRead(4);
    ephd.environments = [fakeEnvironment({ components: [web([])] })];
    await untilRead(3);
    expect(await isDone(session)).toBe(false);
    ephd.environments = [fakeEnvironment({ components: [web(['b2'])] })];
    expect(await session.ended).toBe(exitCodes.ok);
  });

  it('does not take a component of which only one instance ended for one that was made again', async () => {
    const web = (instances: readonly string[]) =>
      fakeComponent({ parts: instances.map((instance) => ({ instance, image: null, restarts: 0, message: '' })) });
    ephd.environments = [fakeEnvironment({ components: [web(['a1', 'a2'])] })];
    const session = start('redeploy', 'shop', 'web');
    await untilRead(4);
    ephd.environments = [fakeEnvironment({ components: [web(['a2'])] })];
    await untilRead(3);
    expect(await isDone(session)).toBe(false);
    ephd.environments = [fakeEnvironment({ components: [web(['b1', 'b2'])] })];
    expect(await session.ended).toBe(exitCodes.ok);
  });
});
