import { spawn } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { RunningEphd } from '../e2e/running-ephd.ts';
import { app, twoServices } from '../e2e/sample-app.ts';
import { Site } from '../e2e/site.ts';
import { runChaos } from './chaos.ts';
import { interruptAt } from './interrupt.ts';
import { Witness } from './witness.ts';
import { type Expected, findDifferences, findOrphans, readWorld } from './world.ts';

const never = new AbortController().signal;

describe('chaos', () => {
  it('converges, however ephd is killed', { timeout: 240_000 }, async () => {
    const lines: string[] = [];
    const result = await runChaos({ kills: 10, seed: 7, towns: 1, print: (line) => lines.push(line), signal: never });
    expect(result, lines.join('\n')).toEqual({
      kills: 10,
      settles: 4,
      converged: 4,
      orphans: 0,
      doubles: 0,
      wrongDeletions: 0,
      faults: 0,
    });
  });

  it('can stop ephd exactly between two steps', async () => {
    await using site = await Site.create();
    await site.repository.push('preview/one', app());
    const ephd = site.launch({
      nodeArgs: interruptAt(site.dataFolder, { step: 'spawn service', side: 'before', occurrence: 1 }),
    });
    expect(await ephd.exited).toMatchObject({ signal: 'SIGKILL' });
    expect(site.services()).toEqual([]);
  });
});

describe('what chaos would find', () => {
  const settle = async (site: Site): Promise<{ readonly expected: readonly Expected[]; readonly ephd: RunningEphd }> => {
    const ephd = await site.start();
    const commit = await site.repository.push('preview/one', app(twoServices));
    await site.untilReady('preview/one', commit);
    return { ephd, expected: [{ branch: 'preview/one', commit, components: ['web', 'api'], answers: true }] };
  };

  it('nothing, when the world is what Git says', async () => {
    await using site = await Site.create();
    const { expected, ephd } = await settle(site);
    using witness = new Witness(site);
    witness.settled();
    expect(findDifferences(expected, await readWorld(site, expected, ephd.pid))).toEqual([]);
    expect([...witness.doubles, ...witness.wrongDeletions]).toEqual([]);
  });

  it('a process that nobody wants, and one that runs twice', async () => {
    await using site = await Site.create();
    const { expected, ephd } = await settle(site);
    const web = site.services().find((one) => one.component === 'web');
    expect(web).toBeDefined();
    // In a session of its own, with the marks of a service: as if ephd had started it and forgotten.
    const stray = (variables: Readonly<Record<string, string>>): number | undefined =>
      spawn('sleep', ['1000'], { env: { ...web?.variables, ...variables }, detached: true, stdio: 'ignore' }).pid;
    const old = stray({ EPH_COMMIT: '0'.repeat(40) });
    const twin = stray({});
    using witness = new Witness(site);
    witness.look();
    expect([...witness.doubles]).toEqual([expect.stringContaining(`process ${twin}`)]);
    const world = await readWorld(site, expected, ephd.pid);
    expect(findOrphans(expected, world)).toContainEqual(expect.stringContaining(`process ${old} runs web`));
    expect(findDifferences(expected, world)).toContainEqual(expect.stringContaining('has 2 processes for web'));
  });

  it('a helper that outlived the ephd that started it', async () => {
    await using site = await Site.create();
    const { expected, ephd } = await settle(site);
    const helper = spawn('git', [`--git-dir=${site.repository.path}`, 'cat-file', '--batch'], {
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    const orphans = findOrphans(expected, await readWorld(site, expected, ephd.pid));
    expect(orphans).toContainEqual(expect.stringContaining(`process ${helper.pid}`));
    helper.stdin.end();
  });

  it('an environment that is lost although its branch was there all the time', async () => {
    await using site = await Site.create();
    await settle(site);
    using witness = new Witness(site);
    witness.look();
    const { id, name } = await site.until('preview/one', 'exists', () => true);
    await rm(join(site.dataFolder, 'process', id), { recursive: true, force: true });
    witness.look();
    expect([...witness.wrongDeletions]).toEqual([expect.stringContaining(`${name} of preview/one`)]);
  });

  it('no wrong deletion when the branch itself went', async () => {
    await using site = await Site.create();
    const { ephd } = await settle(site);
    using witness = new Witness(site);
    witness.look();
    witness.branchWillGo('preview/one');
    await site.repository.delete('preview/one');
    await site.untilGone('preview/one');
    witness.look();
    expect([...witness.wrongDeletions]).toEqual([]);
    expect(findOrphans([], await readWorld(site, [], ephd.pid))).toEqual([]);
  });
});
