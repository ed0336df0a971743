import { projectId } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { type ConfiguredForge, plainProject } from './config.ts';
import { forgeCalled } from './forge.fake.ts';
import { computeSharedOwners } from './shared-owners.ts';

const [work, home] = [forgeCalled('work'), forgeCalled('home')];

const ownersOf = (...paths: readonly (readonly [forge: ConfiguredForge | undefined, path: string])[]) => {
  const projects = paths.map(([forge, location], index) => ({ ...plainProject(projectId(`p${index}`), location), forge }));
  return computeSharedOwners(projects).map(({ forge, owner, projects: together }) => [forge.name, owner, together.join(' ')]);
};

describe('owners whose projects are read together', () => {
  it('have more than one project on one forge', () => {
    expect(ownersOf([work, 'acme/shop'], [work, 'other/shop'], [work, 'acme/news'], [home, 'other/shop'])).toEqual([
      ['work', 'acme', 'p0 p2'],
    ]);
  });

  it('are the innermost groups around all of them, however they are written', () => {
    expect(ownersOf([work, 'Acme/Web/shop'], [work, 'acme/web/old/shop'], [work, 'acme/web/news'])).toEqual([
      ['work', 'Acme/Web', 'p0 p1 p2'],
    ]);
    expect(ownersOf([work, 'acme/web/shop'], [work, 'acme/api/shop'])).toEqual([['work', 'acme', 'p0 p1']]);
    expect(ownersOf([work, 'acme/website/shop'], [work, 'acme/web/shop'], [work, 'acme/web'])).toEqual([
      ['work', 'acme', 'p0 p1 p2'],
    ]);
  });

  it('are none for plain Git', () => {
    expect(ownersOf([undefined, '/srv/git/shop.git'], [undefined, '/srv/git/news.git'])).toEqual([]);
  });
});
