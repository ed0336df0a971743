import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Log, type ProjectId, projectId } from '@eph/contract';
import type { Engine } from '@eph/engine/loop/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type ConfiguredProject, plainProject } from './config.ts';
import { Forges } from './forges.ts';
import { Projects } from './projects.ts';

const project = (name: string, location = `/srv/${name}.git`): ConfiguredProject => plainProject(projectId(name), location);

const start = async (...first: readonly ConfiguredProject[]) => {
  const dataFolder = await mkdtemp(join(tmpdir(), 'eph-projects-'));
  const log: unknown[] = [];
  const note = (fields: object, message: string): void => void log.push({ ...fields, message });
  const silent: Log = { debug: () => {}, info: note, warn: note };
  const forges = new Forges({ dataFolder, environment: { PATH: process.env.PATH }, links: {}, log: silent });
  onTestFinished(async () => {
    await forges[Symbol.asyncDispose]();
    await rm(dataFolder, { recursive: true, force: true });
  });
  const steps: string[] = [];
  const state = () => `${[...projects.all.keys()].join()} ${[...forges.all.keys()].join()}`;
  const engine: Pick<Engine, 'addProjects' | 'removeProjects'> = {
    addProjects: (joined) => void steps.push(`+${[...joined.keys()].join()}: ${state()}`),
    removeProjects: (left: ReadonlySet<ProjectId>) => void (left.size > 0 && steps.push(`-${[...left].join()}: ${state()}`)),
  };
  const keys: (readonly string[])[] = [];
  const projects = new Projects({
    forges,
    reader: { setProjects: (all) => void keys.push(all.map((one) => `${one.repository}/${one.project}`)) },
    engine: () => engine as Engine,
    log: silent,
  });
  await projects.set(first);
  steps.length = 0;
  keys.length = 0;
  log.length = 0;
  return { projects, forges, steps, keys, log };
};

describe('the projects of ephd', () => {
  it('join and leave, and forges, engine and configuration follow', async () => {
    const { projects, forges, steps, keys, log } = await start(project('a'), project('b'));
    const kept = forges.get(projectId('b'));
    await projects.set([project('b'), project('c')]);
    // The engine lets go of a project before its forge is closed, and gets it after its forge was created.
    expect(steps).toEqual(['-a: b a,b', '+c: b,c b,c']);
    expect(keys).toEqual([['b/b'], ['b/b', 'c/c']]);
    expect(log).toEqual([
      { projects: ['a'], count: 1, message: 'projects left' },
      { projects: ['c'], count: 1, message: 'projects joined' },
    ]);
    expect(forges.get(projectId('b'))).toBe(kept);
    expect([...projects.forEngine().keys()]).toEqual(['b', 'c']);
  });

  it('leave and join with other settings', async () => {
    const { projects, forges, steps } = await start(project('a'), project('b'));
    const before = forges.get(projectId('a'));
    await projects.set([project('a', '/srv/other.git'), project('b')]);
    expect(steps).toEqual(['-a: b a,b', '+a: b,a b,a']);
    expect(forges.get(projectId('a'))).not.toBe(before);
    expect(projects.all.get(projectId('a'))?.location).toBe('/srv/other.git');
  });

  it('are left alone if nothing changed', async () => {
    const { projects, steps, keys, log } = await start(project('a'));
    await projects.set([project('a')]);
    expect([steps, keys, log]).toEqual([[], [], []]);
  });

  it('fill no line of the log', async () => {
    const { projects, log } = await start();
    await projects.set(Array.from({ length: 100 }, (_, index) => project(`p${index}`)));
    expect(log).toMatchObject([{ projects: { length: 20 }, count: 100 }]);
  });
});
