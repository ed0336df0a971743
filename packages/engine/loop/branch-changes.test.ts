import { describe, expect, it } from 'vitest';
import type { ConfiguredProject } from './context.ts';
import { branch, EngineHarness, shop } from './engine-harness.fake.ts';

const settle = 60;
const effectMs = 500;
const quiet = ['preview/quiet-1', 'preview/quiet-2', 'preview/quiet-3'];
const busy = ['preview/0', 'preview/1', 'preview/2', 'preview/3', 'preview/4'];

/** A project that is read when its forge notices a change, or one that is read within a limit and announced by webhooks. */
const start = async (limit: ConfiguredProject['limit']): Promise<EngineHarness> => {
  const harness = new EngineHarness().start([]);
  const [project] = harness.configure(new Map([[shop, harness.forge]])).values();
  if (project !== undefined) harness.engine.addProjects(new Map([[shop, { ...project, limit }]]));
  for (const name of quiet) harness.push(name);
  await harness.live(settle);
  return harness;
};

/** Every branch is pushed if it is not there and deleted if it is, in turn. Returns the last commits of those that are there. */
const comeAndGo = async (harness: EngineHarness, rounds: number, notice: () => void): Promise<Record<string, string>> => {
  const last: Record<string, string> = {};
  for (let round = 0; round < rounds; round += 1) {
    const name = busy[round % busy.length] ?? '';
    if (last[`${name}/web`] === undefined) last[`${name}/web`] = harness.push(name);
    else {
      harness.repository.delete(branch(name));
      delete last[`${name}/web`];
    }
    notice();
    harness.clock.advance(60_000 / rounds);
    // The loop goes on while more arrives; it is not waited for.
    await new Promise(setImmediate);
  }
  return last;
};

describe('branches that come and go a thousand times in a minute', () => {
  const limit = { account: 'forge', readingsPerMinute: 1 };
  it.each([
    ['noticed by a watch', undefined, 1003],
    ['announced by webhooks', limit, 1003],
    ['announced by webhooks, and all gone at the end', limit, 1000],
  ] as const)('end as they are, %s, and disturb no other', async (_, limited, rounds) => {
    const harness = await start(limited);
    const before = harness.running();
    const versions = structuredClone([...harness.infrastructure.environments.values()]);
    expect(Object.keys(before)).toEqual(quiet.map((name) => `${name}/web`));
    const disturbed = new Set<string>();
    harness.providerOptions = {
      disturb: (operation, moment, id) => {
        if (operation === 'list' || id === undefined) return Promise.resolve();
        disturbed.add(id);
        // Longer than until the next change of the same branch.
        return moment === 'during' ? new Promise((resolve) => harness.clock.after(effectMs, resolve)) : Promise.resolve();
      },
    };
    const notice = limited === undefined ? () => harness.forge.nudge() : () => harness.engine.announce(shop);
    const last = await comeAndGo(harness, rounds, notice);
    harness.providerOptions = {};
    harness.clock.advance(effectMs);
    await harness.live(settle);
    expect(Object.keys(last)).toHaveLength(rounds % busy.length);
    expect(harness.running()).toEqual({ ...before, ...last });
    const phases = harness.engine.environments().map(({ status, held }) => ({ phase: status?.phase, held }));
    expect(phases).toEqual(
      Array.from({ length: quiet.length + Object.keys(last).length }, () => ({ phase: 'Ready', held: false })),
    );
    expect(versions.map(({ identity }) => harness.infrastructure.environments.get(identity.id))).toEqual(versions);
    for (const { identity } of versions) expect(disturbed).not.toContain(identity.id);
    expect(disturbed.size).toBeGreaterThan(0);
    expect(harness.engine.load).toMatchObject({ ready: 0, running: 0 });
    // Nothing is done more often than it was asked for.
    expect(harness.provider.calls.ensure).toBeLessThanOrEqual(quiet.length + rounds / 2 + 2);
    expect(harness.provider.calls.remove).toBeLessThanOrEqual(rounds / 2);
  });
});
