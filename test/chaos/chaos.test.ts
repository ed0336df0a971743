import { spawn } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EphdHarness } from '../e2e/ephd-harness.ts';
import type { RunningEphd } from '../e2e/running-ephd.ts';
import { app, twoServices } from '../e2e/sample-app.ts';
import { runChaos } from './chaos.ts';
import { interruptAt } from './interrupt.ts';
import { type Expected, findDifferences, findOrphans, readObservedState } from './observed-state.ts';
import { Observer } from './observer.ts';
import { processWorlds } from './process-world.ts';

const never = new AbortController().signal;

describe('a chaos run', () => {
  it('converges whenever ephd is killed', { timeout: 240_000 }, async () => {
    const lines: string[] = [];
    const result = await runChaos({
      worlds: processWorlds,
      kills: 5,
      seed: 7,
      workers: 1,
      print: (line) => lines.push(line),
      signal: never,
    });
    expect(result, lines.join('\n')).toEqual({
      kills: 5,
      settles: 3,
      converged: 3,
      orphans: 0,
      doubles: 0,
      wrongDeletions: 0,
      faults: 0,
    });
  });

  it('can kill ephd exactly between two steps', async () => {
    await using harness = await EphdHarness.create();
    await harness.repository.push('preview/one', app());
    const ephd = harness.launch({
      nodeArgs: interruptAt(harness.dataFolder, { step: 'spawn service', side: 'before', occurrence: 1 }),
    });
    expect(await ephd.exited).toMatchObject({ signal: 'SIGKILL' });
    expect(harness.services()).toEqual([]);
  });
});

describe('a chaos run detects', () => {
  const settle = async (
    harness: EphdHarness,
  ): Promise<{ readonly expected: readonly Expected[]; readonly ephd: RunningEphd }> => {
    const ephd = await harness.start();
    const commit = await harness.repository.push('preview/one', app(twoServices));
    await harness.untilReady('preview/one', commit);
    return { ephd, expected: [{ branch: 'preview/one', commit, components: ['web', 'api'], answers: true }] };
  };

  it('nothing if the observed state matches Git', async () => {
    await using harness = await EphdHarness.create();
    const { expected, ephd } = await settle(harness);
    using observer = new Observer(harness);
    observer.settled();
    expect(findDifferences(expected, await readObservedState(harness, expected, ephd.pid))).toEqual([]);
    expect([...observer.doubles, ...observer.wrongDeletions]).toEqual([]);
  });

  it('an orphaned process and a duplicate process', async () => {
    await using harness = await EphdHarness.create();
    const { expected, ephd } = await settle(harness);
    const web = harness.services().find((one) => one.component === 'web');
    expect(web).toBeDefined();
    // In a separate session, with the environment variables of a service: as if ephd had started and lost it.
    const stray = (variables: Readonly<Record<string, string>>): number | undefined =>
      spawn('sleep', ['1000'], { env: { ...web?.variables, ...variables }, detached: true, stdio: 'ignore' }).pid;
    const old = stray({ EPH_COMMIT: '0'.repeat(40) });
    const twin = stray({});
    using observer = new Observer(harness);
    observer.check();
    expect([...observer.doubles]).toEqual([expect.stringContaining(`process ${twin}`)]);
    const observed = await readObservedState(harness, expected, ephd.pid);
    expect(findOrphans(expected, observed)).toContainEqual(expect.stringContaining(`process ${old} runs web`));
    expect(findDifferences(expected, observed)).toContainEqual(expect.stringContaining('has 2 processes for web'));
  });

  it('a helper process that outlives its ephd', async () => {
    await using harness = await EphdHarness.create();
    const { expected, ephd } = await settle(harness);
    const helper = spawn('git', [`--git-dir=${harness.repository.path}`, 'cat-file', '--batch'], {
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    const orphans = findOrphans(expected, await readObservedState(harness, expected, ephd.pid));
    expect(orphans).toContainEqual(expect.stringContaining(`process ${helper.pid}`));
    helper.stdin.end();
  });

  it('an environment that is removed although its branch exists', async () => {
    await using harness = await EphdHarness.create();
    await settle(harness);
    using observer = new Observer(harness);
    observer.check();
    const { id, name } = await harness.until('preview/one', 'exists', () => true);
    await rm(join(harness.dataFolder, 'process', id), { recursive: true, force: true });
    observer.check();
    expect([...observer.wrongDeletions]).toEqual([expect.stringContaining(`${name} of preview/one`)]);
  });

  it('no wrong deletion if the branch was deleted', async () => {
    await using harness = await EphdHarness.create();
    const { ephd } = await settle(harness);
    using observer = new Observer(harness);
    observer.check();
    observer.branchWillBeDeleted('preview/one');
    await harness.repository.delete('preview/one');
    await harness.untilGone('preview/one');
    observer.check();
    expect([...observer.wrongDeletions]).toEqual([]);
    expect(findOrphans([], await readObservedState(harness, [], ephd.pid))).toEqual([]);
  });
});
