import { componentName, type EnvironmentId, type ProviderName, type Source, sourceKey } from '@eph/contract';
import { nameOf } from './builds.ts';
import { type Content, componentsOf, runsFiles, type Shape, usesOf } from './contents.ts';
import { addressOf, environmentOf, type SimulationHarness } from './harness.ts';
import type { Invariant } from './invariants.ts';

/** Something that is not as Git says. */
export interface Difference {
  readonly invariant: Invariant;
  readonly message: string;
}

type EnvironmentRecord = ReturnType<SimulationHarness['engine']['environments']>[number];
type Slot =
  SimulationHarness['infrastructures'] extends ReadonlyMap<ProviderName, infer I>
    ? I extends { environments: Map<EnvironmentId, { slots: Map<infer _Name, infer S> }> }
      ? S
      : never
    : never;

const diverges = (message: string): Difference => ({ invariant: 'environments converge', message });

/** The first difference between Git and the infrastructure. What is held is left out, and all of a project that left must be held. */
export const differenceToGit = (harness: SimulationHarness): Difference | undefined => {
  if (harness.lieOnce.size > 0) return diverges('Git has not been read since faults stopped');
  const unread = findUnread(harness);
  if (unread !== undefined) return diverges(unread);
  const records = recordsOf(harness);
  const wanted = new Set<EnvironmentId>();
  for (const { id, source, content } of wantedSources(harness)) {
    wanted.add(id);
    if (content.wants(source.ref) === 'unclear') continue;
    const difference = differenceIn(harness, id, source, content, records.get(id));
    if (difference !== undefined)
      return { ...difference, message: `${source.project} ${sourceKey(source.ref)}: ${difference.message}` };
  }
  for (const [provider, { environments }] of harness.infrastructures)
    for (const [id, { identity }] of environments)
      if (!wanted.has(id) && records.get(id)?.held !== true) return diverges(`${identity.name} still exists on ${provider}`);
  for (const { id, name } of records.values())
    if (!wanted.has(id) && harness.holdersOf(id).size === 0) return diverges(`${name} is still shown`);
  return undefined;
};

/** An environment that an operator released and that still exists. */
export const leftover = (harness: SimulationHarness): Difference | undefined => {
  const held = harness.engine.environments().find((one) => one.held);
  return held === undefined ? undefined : diverges(`${held.name} was released and still exists`);
};

/**
 * The first difference in what does not concern a provider that is away or retired. It concerns environments that it holds, or that the
 * engine last saw there, and those whose file names it. It also delays the end of every removal, environments whose file cannot be used,
 * new ones with a template for their name until it has been listed once, and removals while a hold may not be written on it.
 */
export const differenceBeside = (harness: SimulationHarness, away: ProviderName): Difference | undefined => {
  const unread = findUnread(harness);
  if (unread !== undefined) return besides(unread);
  const records = recordsOf(harness);
  const isOn = (id: EnvironmentId): boolean =>
    harness.holdersOf(id).has(away) || records.get(id)?.observed?.components.some(({ provider }) => provider === away) === true;
  const hasNames = harness.invariants.hasListed(harness.providers);
  const wanted = new Set<EnvironmentId>();
  for (const { id, source, content } of wantedSources(harness)) {
    wanted.add(id);
    if (content.wants(source.ref) === 'unclear' || content.shape === undefined || isOn(id)) continue;
    if (isNamedBy(content, away) || (content.hasTemplate && !hasNames && harness.holdersOf(id).size === 0)) continue;
    const difference = differenceIn(harness, id, source, content, records.get(id));
    if (difference !== undefined) return besides(`${source.project} ${sourceKey(source.ref)}: ${difference.message}`);
  }
  const blocked = new Set([...records.values()].filter(({ id, held }) => held && isOn(id)).map(({ project }) => project));
  for (const [provider, { environments }] of harness.infrastructures)
    for (const [id, { identity }] of provider === away ? [] : environments)
      if (!wanted.has(id) && records.get(id)?.held !== true && !isOn(id) && !blocked.has(identity.project))
        return besides(`${identity.name} still exists on ${provider}`);
  return undefined;
};

/**
 * The first difference while the registry cannot be used: what was ready still is, and environments whose images run already, or that
 * have none, are as Git says.
 */
export const differenceBesideRegistry = (
  harness: SimulationHarness,
  ready: ReturnType<SimulationHarness['readyComponents']>,
): Difference | undefined => {
  const unread = findUnread(harness);
  if (unread !== undefined) return besides(unread);
  const records = recordsOf(harness);
  const readyNow = harness.readyComponents();
  for (const { id, source, content } of wantedSources(harness)) {
    if (content.wants(source.ref) === 'unclear') continue;
    const name = `${source.project} ${sourceKey(source.ref)}`;
    if (!asksRegistry(harness, id, source, content)) {
      const difference = differenceIn(harness, id, source, content, records.get(id));
      if (difference !== undefined) return besides(`${name}: ${difference.message}`);
      continue;
    }
    const wanted: readonly string[] = content.shape === undefined ? [] : componentsOf(content.shape);
    const lost = [...(ready.get(id) ?? [])].find((one) => wanted.includes(one) && readyNow.get(id)?.has(one) !== true);
    if (lost !== undefined)
      return { invariant: 'a registry stops nothing that runs', message: `${name}: ${lost} was ready, and is not any more` };
  }
  return undefined;
};

/** Some image of the commit does not run yet. */
const asksRegistry = (
  harness: SimulationHarness,
  id: EnvironmentId,
  { project, commit }: Source,
  { shape }: Pick<Content, 'shape'>,
): boolean => {
  const runs = harness.imagesOf(id).filter(({ image }) => image.fallback !== true);
  return Object.values(shape?.images ?? {}).some(
    (kind) =>
      !runs.some(({ name, image }) => name === nameOf(project, kind) && image.commit === (kind === 'fixed' ? null : commit)),
  );
};

/** What a retired provider still holds although no source wants it and an operator released it. Others may be found unwanted later. */
export const leftoverOn = (
  harness: SimulationHarness,
  retired: ProviderName,
  released: ReadonlySet<EnvironmentId>,
): Difference | undefined => {
  const wanted = new Set(Array.from(wantedSources(harness), ({ id }) => id));
  for (const [id, { identity }] of harness.infrastructures.get(retired)?.environments ?? [])
    if (!wanted.has(id) && released.has(id)) return besides(`${identity.name} was released and still exists on ${retired}`);
  return undefined;
};

const besides = (message: string): Difference => ({ invariant: 'environments converge while one provider is away', message });

const isNamedBy = ({ choice, shape }: Content, provider: ProviderName): boolean =>
  choice.includes(provider) || (provider === 'spare' && Object.keys(shape?.extras ?? {}).length > 0);

const recordsOf = ({ engine }: SimulationHarness): ReadonlyMap<EnvironmentId, EnvironmentRecord> =>
  new Map(engine.environments().map((record) => [record.id, record]));

/** The limit of a forge can delay the first reading of a project, also of one that wants no environment. */
const findUnread = ({ configured, engine }: SimulationHarness): string | undefined => {
  const projects = engine.projects();
  const unread = configured.find((id) => projects.get(id)?.isRead !== true);
  return unread === undefined ? undefined : `${unread} has not been read yet`;
};

/** Every source of a configured project that wants an environment, or may. */
function* wantedSources(harness: SimulationHarness): Iterable<{ id: EnvironmentId; source: Source; content: Content }> {
  for (const project of harness.configured)
    for (const source of harness.sources(project)) {
      const content = harness.contentAt(source.commit);
      if (content.wants(source.ref) !== 'no') yield { id: harness.identify(project, source.ref), source, content };
    }
}

const differenceIn = (
  harness: SimulationHarness,
  id: EnvironmentId,
  source: Source,
  content: Content,
  record: EnvironmentRecord | undefined,
): Difference | undefined => {
  const { shape } = content;
  const phase = record?.status?.phase;
  if (record?.held === true) return diverges('its removal is held although it is wanted');
  if (content.waits === true)
    return phase === 'Ready' || phase === 'Failed' ? diverges(`it waits for ever, but it is ${phase}`) : undefined;
  if (shape === undefined)
    return phase === 'Failed' || phase === 'Degraded'
      ? undefined
      : diverges(`nothing can be made of ${content.label}, but it is ${phase}`);
  const names = [...harness.holdersOf(id).values()].map(({ name }) => name);
  if (record === undefined) return diverges('it is not known');
  if (names.length > 0 && !names.includes(record.name))
    return diverges(`it is called ${names.join(' and ')} and shown as ${record.name}`);
  const isBroken = (name: string): boolean => harness.broken.has(`${source.commit}/${name}`);
  const components = componentsOf(shape);
  const places = new Places(harness, id, content);
  const images = new Images(harness, source, shape, places);
  for (const component of components) {
    const difference = differenceOf(component, source, content, places, images, isBroken);
    if (difference !== undefined) return diverges(difference);
  }
  const lacking = components.filter((one) => isBroken(one) || images.isMissing(one));
  if (lacking.length > 0)
    return phase === 'Ready' && !lacking.some((one) => images.isUnclear(one))
      ? diverges('it is shown as ready and is not')
      : undefined;
  return places.findSurplus() ?? (phase === 'Ready' ? undefined : diverges(`it is as it should be, but shown as ${phase}`));
};

/** Where the components of one environment are. */
class Places {
  readonly #harness: SimulationHarness;
  readonly #id: EnvironmentId;
  readonly #content: Content;

  constructor(harness: SimulationHarness, id: EnvironmentId, content: Content) {
    this.#harness = harness;
    this.#id = id;
    this.#content = content;
  }

  /** The provider that makes a component: one that the file allows, and of several the one that has it. */
  providerOf(component: string): ProviderName | undefined {
    const allowed = this.#harness.allowedFor(this.#content, component);
    return allowed.find((name) => this.#slotOn(name, component) !== undefined) ?? allowed[0];
  }

  slotOf(component: string): Slot | undefined {
    const provider = this.providerOf(component);
    return provider === undefined ? undefined : this.#slotOn(provider, component);
  }

  addressOf(component: string): string | undefined {
    const provider = this.providerOf(component);
    const current = this.slotOf(component)?.current;
    return provider === undefined || current === undefined ? undefined : addressOf(provider, current.component);
  }

  /** Once nothing is on its way, each component is on one provider, runs one version, and no other component is left. */
  findSurplus(): Difference | undefined {
    const { shape } = this.#content;
    const components = shape === undefined ? [] : componentsOf(shape);
    for (const [provider, { environments }] of this.#harness.infrastructures) {
      const environment = environments.get(this.#id);
      if (environment?.held === true) return diverges(`it is wanted, and its hold is still written on ${provider}`);
      for (const [component, { retiring }] of environment?.slots ?? []) {
        if (!components.includes(component)) return leftBehind(`${component} is no longer in the file and still on ${provider}`);
        if (this.providerOf(component) !== provider) return leftBehind(`${component} has moved and is still on ${provider}`);
        if (retiring !== undefined) return diverges(`${component} still runs its version before`);
      }
    }
    return undefined;
  }

  #slotOn(provider: ProviderName, component: string): Slot | undefined {
    return this.#harness.infrastructures.get(provider)?.environments.get(this.#id)?.slots.get(componentName(component));
  }
}

/** The images of one source. */
class Images {
  readonly #harness: SimulationHarness;
  readonly #source: Source;
  readonly #kinds: Shape['images'];
  readonly #places: Places;

  constructor(harness: SimulationHarness, source: Source, { images }: Shape, places: Places) {
    this.#harness = harness;
    this.#source = source;
    this.#kinds = images;
    this.#places = places;
  }

  /** The right image is not there, and was not, either, when the version of this commit was made. */
  isMissing(component: string): boolean {
    const kind = this.#kinds[component];
    if (kind === undefined || this.#harness.builds.has(this.#source, kind)) return false;
    const { commit } = this.#source;
    const version = this.#places.slotOf(component)?.current?.component;
    const isFallback = Object.values(version?.images ?? {}).some(({ fallback }) => fallback === true);
    return version?.commit !== commit || isFallback || !this.#runs(component, commit);
  }

  /** What runs is equal to the image that is missing, which whoever found it before knows, and a new process does not. */
  isUnclear(component: string): boolean {
    return this.isMissing(component) && this.#runs(component, this.#source.commit);
  }

  /** Whether nothing can run of the component: a fall-back is always there. */
  isAwaited(component: string): boolean {
    return this.isMissing(component) && this.#kinds[component] !== 'replaced';
  }

  differenceOf(component: string): string | undefined {
    const kind = this.#kinds[component];
    if (kind === undefined) return undefined;
    const purpose = kind === 'fixed' ? kind : this.isMissing(component) ? 'latest' : this.#source.commit;
    return this.#runs(component, purpose) ? undefined : `${component} does not run its image (${purpose.slice(0, 7)})`;
  }

  #runs(component: string, purpose: Parameters<SimulationHarness['isImageFor']>[1]): boolean {
    const images = Object.values(this.#places.slotOf(component)?.current?.component.images ?? {});
    return images.some(({ reference }) => this.#harness.isImageFor(reference, purpose));
  }
}

const leftBehind = (message: string): Difference => ({ invariant: 'nothing is left behind', message });

/**
 * A component must run its commit if everything it uses can get ready; a broken one must at least have been tried. What runs no file of
 * the repository stays where a commit does not change it.
 */
const differenceOf = (
  component: string,
  { commit }: Source,
  { shape }: Content,
  places: Places,
  images: Images,
  isBroken: (name: string) => boolean,
): string | undefined => {
  if (shape === undefined) return undefined;
  const uses = usesOf(shape, component);
  const canRun = (one: string): boolean => !isBroken(one) && !images.isAwaited(one) && usesOf(shape, one).every(canRun);
  if (!uses.every(canRun) || images.isAwaited(component)) return undefined;
  const slot = places.slotOf(component);
  if (isBroken(component))
    return slot?.next?.component.commit === commit ? undefined : `${component} of ${commit.slice(0, 7)} was not even tried`;
  if (slot?.current === undefined || (runsFiles(shape, component) && slot.current.component.commit !== commit))
    return `${component} does not run ${commit.slice(0, 7)}`;
  // A superseded `next` is dropped together with the retiring version, which a broken user may need for ever.
  if (slot.next !== undefined && !componentsOf(shape).some((one) => isBroken(one) || images.isMissing(one)))
    return `${component} has a version on its way`;
  const image = images.differenceOf(component);
  if (image !== undefined) return image;
  const env = environmentOf(slot.current.component);
  const stale = uses.find((used) => env[used.toUpperCase()] !== places.addressOf(used));
  return stale === undefined ? undefined : `${component} uses an old ${stale}`;
};
