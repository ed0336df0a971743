import type { ProjectId } from '@eph/contract';
import type { ConfiguredForge, ConfiguredProject } from './config.ts';

/** An organisation, user or group, and its projects that can be read together. */
export interface SharedOwner {
  readonly forge: ConfiguredForge;
  readonly owner: string;
  readonly projects: readonly ProjectId[];
}

/**
 * Owners of more than one project. Of nested groups, the innermost that contains all projects of the outermost: the token of a
 * group has no access to the groups around it.
 */
export const computeSharedOwners = (projects: readonly ConfiguredProject[]): readonly SharedOwner[] => {
  const groups = Map.groupBy(projects, ({ forge, location }) => `${forge?.name ?? ''} ${ownersOf(location)[0]?.toLowerCase()}`);
  return [...groups.values()].flatMap(([first, ...others]): readonly SharedOwner[] => {
    if (first?.forge === undefined || others.length === 0) return [];
    const owner = others.map(({ location }) => ownersOf(location)).reduce(commonPrefix, ownersOf(first.location));
    return [{ forge: first.forge, owner: owner.join('/'), projects: [first, ...others].map(({ id }) => id) }];
  });
};

const ownersOf = (location: string): readonly string[] => location.split('/').slice(0, -1);

const commonPrefix = (a: readonly string[], b: readonly string[]): readonly string[] => {
  const end = a.findIndex((part, index) => part.toLowerCase() !== b[index]?.toLowerCase());
  return end === -1 ? a : a.slice(0, end);
};
