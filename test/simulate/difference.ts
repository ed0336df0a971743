import { type EnvironmentId, type Source, sourceKey } from '@eph/contract';
import { identify } from '@eph/engine/desired/identity';
import type { Content } from './contents.ts';
import { environmentOf, type Town } from './town.ts';

type Slot = Town['infrastructure']['environments'] extends Map<infer _Id, { slots: Map<infer _Name, infer S> }> ? S : never;

/** The first thing that is not as Git says; what the guard holds does not count. */
export const differenceToGit = (town: Town): string | undefined => {
  const wanted = new Set<EnvironmentId>();
  for (const project of town.character.projects)
    for (const source of town.sources(project)) {
      const content = town.contentOf(source);
      const wish = content.wants(source.ref);
      if (wish === 'no') continue;
      const id = identify(project, source.ref);
      wanted.add(id);
      const difference = wish === 'unclear' ? undefined : differenceIn(town, id, source, content);
      if (difference !== undefined) return `${project} ${sourceKey(source.ref)}: ${difference}`;
    }
  for (const { id, name } of town.identities())
    if (!wanted.has(id) && town.engine.memory.get(id)?.held !== true) return `${name} still exists`;
  for (const { id, name } of town.engine.environments())
    if (!wanted.has(id) && town.identityOf(id) === undefined) return `${name} is still shown`;
  return undefined;
};

/** What the guard held and an operator released. */
export const leftover = (town: Town): string | undefined => {
  const held = town.engine.environments().find((one) => one.held);
  return held === undefined ? undefined : `${held.name} was released and still exists`;
};

const differenceIn = (town: Town, id: EnvironmentId, source: Source, content: Content): string | undefined => {
  const known = town.engine.memory.get(id);
  const phase = known?.status?.phase;
  if (known?.held === true) return 'its removal is held although it is wanted';
  if (content.waits === true)
    return phase === 'Ready' || phase === 'Failed' ? `it waits for ever, but it is ${phase}` : undefined;
  if (content.components === undefined)
    return phase === 'Failed' || phase === 'Degraded' ? undefined : `nothing can be made of ${content.label}, but it is ${phase}`;
  const environment = town.infrastructure.environments.get(id);
  if (environment === undefined) return 'it does not exist';
  if (known?.name !== environment.identity.name) return `it is called ${environment.identity.name} and shown as ${known?.name}`;
  const slots = new Map([...environment.slots].map(([name, slot]) => [name as string, slot]));
  const isBroken = (name: string): boolean => town.broken.has(`${source.commit}/${name}`);
  const names = Object.keys(content.components);
  for (const name of names) {
    const difference = differenceOf(name, source, content.components, slots, isBroken);
    if (difference !== undefined) return difference;
  }
  if (names.some(isBroken)) return phase === 'Ready' ? 'it is shown as ready and is not' : undefined;
  const surplus = [...slots.keys()].find((name) => !names.includes(name));
  if (surplus !== undefined) return `${surplus} is no longer in the file and still exists`;
  const retiring = [...slots].find(([, slot]) => slot.retiring !== undefined);
  if (retiring !== undefined) return `${retiring[0]} still runs its version before`;
  return phase === 'Ready' ? undefined : `it is as it should be, but shown as ${phase}`;
};

/** A component runs what its commit says if everything it uses does; one that cannot get ready is on its way for ever. */
const differenceOf = (
  name: string,
  source: Source,
  components: { readonly [name: string]: readonly string[] },
  slots: ReadonlyMap<string, Slot>,
  isBroken: (name: string) => boolean,
): string | undefined => {
  const uses = components[name] ?? [];
  const canRun = (one: string): boolean => !isBroken(one) && (components[one] ?? []).every(canRun);
  if (!uses.every(canRun)) return undefined;
  const { commit } = source;
  const slot = slots.get(name);
  if (isBroken(name))
    return slot?.next?.component.commit === commit ? undefined : `${name} of ${commit.slice(0, 7)} was not even tried`;
  if (slot?.current?.component.commit !== commit) return `${name} does not run ${commit.slice(0, 7)}`;
  // One that nobody wants any more goes together with the version before, and that may be in use for ever.
  if (slot.next !== undefined && !Object.keys(components).some(isBroken)) return `${name} has a version on its way`;
  const env = environmentOf(slot.current.component);
  const stale = uses.find(
    (used) => env[used.toUpperCase()] !== `http://${used}.test/${slots.get(used)?.current?.component.revision}`,
  );
  return stale === undefined ? undefined : `${name} uses an old ${stale}`;
};
