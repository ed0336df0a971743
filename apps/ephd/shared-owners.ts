import type { ProjectId } from '@eph/contract';
import type { ConfiguredForge, ConfiguredProject } from './config.ts';

/** An organisation, user or group, and those of its projects that can be looked at together. */
export interface SharedOwner {
  readonly forge: ConfiguredForge;
  readonly owner: string;
  readonly projects: readonly ProjectId[];
}

/**
 * Owners of more than one project; one alone gains nothing. Of groups in groups it is the innermost around all projects of the outermost:
 * the token of a group cannot see what is around it.
 */
export const computeSharedOwners = (projects: readonly ConfiguredProject[]): readonly SharedOwner[] => {
  const together = Map.groupBy(projects, ({ forge, location }) => `${forge?.name ?? ''} ${ownersOf(location)[0]?.toLowerCase()}`);
  return [...together.values()].flatMap(([first, ...others]): readonly SharedOwner[] => {
    if (first?.forge === undefined || others.length === 0) return [];
    const owner = others.map(({ location }) => ownersOf(location)).reduce(commonStart, ownersOf(first.location));
    return [{ forge: first.forge, owner: owner.join('/'), projects: [first, ...others].map(({ id }) => id) }];
  });
};

/** The outermost first. */
const ownersOf = (location: string): readonly string[] => location.split('/').slice(0, -1);

const commonStart = (a: readonly string[], b: readonly string[]): readonly string[] => {
  const end = a.findIndex((part, index) => part.toLowerCase() !== b[index]?.toLowerCase());
  return end === -1 ? a : a.slice(0, end);
};
