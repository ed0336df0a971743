import { type EnvironmentId, EphError, type ProjectId, type SourceRef, sourceKey } from '@eph/contract';
import { describeProgress, type Loss, type Operation, type Waiting } from './calls.ts';
import { anyContent, anyOdd, anySound } from './contents.ts';
import { Random } from './random.ts';
import type { Town } from './town.ts';

/** Does one thing and says what; `undefined` when there is nothing to do it to. */
type Deed = (town: Town, random: Random) => string | undefined;

/**
 * One step of the storm, decided by its own seed and what there is to decide about, and by nothing before it: a history stays
 * meaningful when steps are taken out of it.
 */
export const takeStep = (town: Town, seed: number): string => {
  const random = new Random(seed);
  const possible: typeof deeds = [[town.character.crashes, crash], ...deeds];
  let lot = random.next() * (totalWeight + town.character.crashes);
  const [, deed] = possible.find(([weight]) => (lot -= weight) < 0) ?? [0, letTimePass];
  return deed(town, random) ?? goOn(town, random) ?? letTimePass(town, random) ?? 'nothing happens';
};

const goOn: Deed = (town, random) => {
  const waiting = town.calls.take(random.below(2 ** 32));
  if (waiting === undefined) return undefined;
  const { operation, about, party } = waiting.call;
  const likelihood = town.outages.has(party) ? 0.9 : town.character.mishaps;
  const mishap = random.chance(likelihood) ? random.pick(mishapsOf(town, waiting)) : undefined;
  if (mishap === 'fails') {
    waiting.fail(errorOf(operation, random));
    return `${operation} ${about} fails ${{ before: 'before it takes place', during: 'half-way', after: 'afterwards' }[waiting.moment]}`;
  }
  waiting.call.loss = mishap;
  waiting.goOn();
  return `${describeProgress(waiting)}${mishap === undefined ? '' : `: ${mishap}`}`;
};

const mishapsOf = (town: Town, { call: { operation }, moment }: Waiting): readonly ('fails' | Loss)[] => {
  switch (operation) {
    case 'sources':
      return moment === 'before' ? ['fails', 'half', 'empty', 'lying half', 'lying empty'] : [];
    case 'list':
      if (moment === 'before') return ['fails'];
      return town.character.lyingProvider ? ['half', 'empty', 'torn', 'lying half', 'lying empty'] : ['half', 'empty', 'torn'];
    case 'source':
      return moment === 'before' ? ['fails'] : [];
    default:
      return ['fails'];
  }
};

/** Failures that pass by themselves; what needs a person would not be a fault that stops. */
const errorOf = (operation: Operation, random: Random): Error => {
  if (random.chance(0.2)) return new Error('nobody foresaw this');
  if (operation === 'sources' || operation === 'source') return new EphError('forge.unreachable', 'no answer');
  if (operation === 'readFile') return new EphError('source.commit_missing', 'the commit is not there yet');
  return new EphError('provider.unreachable', 'no answer');
};

const letTimePass: Deed = (town, random) => {
  const due = town.clock.nextDue();
  const ms = due === undefined || random.chance(0.2) ? random.below(20_000) : Math.max(0, due - town.clock.now());
  town.clock.advance(ms);
  return `${Math.round(ms)} ms pass`;
};

const anyRef = (town: Town, random: Random): SourceRef => {
  if (random.chance(0.8)) return { kind: 'branch', name: `preview/${random.below(town.character.previews)}` };
  return random.pick<SourceRef>([
    { kind: 'tag', name: `v${random.below(3)}` },
    { kind: 'branch', name: 'main' },
    { kind: 'branch', name: 'release/1' },
  ]);
};

/** A hint may be missing. */
const perhapsNudge = (town: Town, random: Random, project: ProjectId): string => {
  const forge = town.forges.get(project);
  if (forge === undefined || random.chance(0.5)) return '';
  forge.nudge();
  return ', noticed';
};

const push: Deed = (town, random) => {
  const project = random.pick(town.character.projects);
  const ref = anyRef(town, random);
  const content = ref.name.startsWith('preview/') ? anyContent(random) : anyOdd(random);
  const commit = town.push(project, ref, content);
  const component = random.chance(0.1) ? random.pick(Object.keys(content.components ?? {})) : undefined;
  if (component !== undefined) town.broken.add(`${commit}/${component}`);
  const flaw = component === undefined ? '' : `, whose ${component} never gets ready`;
  return `push ${project} ${sourceKey(ref)} at ${commit.slice(0, 7)}: ${content.label}${flaw}${perhapsNudge(town, random, project)}`;
};

const pushMany: Deed = (town, random) => {
  const project = random.pick(town.character.projects);
  const content = anySound(random);
  for (let index = 0; index < town.character.previews; index += 1)
    if (random.chance(0.8)) town.push(project, { kind: 'branch', name: `preview/${index}` }, content);
  return `push most previews of ${project}: ${content.label}${perhapsNudge(town, random, project)}`;
};

/** What a town begins with: something to lose. */
export const pushPreview = (town: Town, seed: number): string => {
  const random = new Random(seed);
  const project = random.pick(town.character.projects);
  const name = `preview/${random.below(town.character.previews)}`;
  const content = anySound(random);
  town.push(project, { kind: 'branch', name }, content);
  return `push ${project} branch:${name}: ${content.label}`;
};

const pointElsewhere: Deed = (town, random) => {
  const project = random.pick(town.character.projects);
  const source = random.pick(town.sources(project));
  const ref = anyRef(town, random);
  if (source === undefined) return undefined;
  town.point({ ...source, ref });
  return `point ${project} ${sourceKey(ref)} at ${source.commit.slice(0, 7)}${perhapsNudge(town, random, project)}`;
};

const goBack: Deed = (town, random) => {
  const project = random.pick(town.character.projects);
  const source = random.pick(town.sources(project));
  const past = source === undefined ? undefined : random.pick(town.pastOf(project, source.ref));
  if (past === undefined) return undefined;
  town.point(past);
  return `point ${project} ${sourceKey(past.ref)} back at ${past.commit.slice(0, 7)}${perhapsNudge(town, random, project)}`;
};

const deleteOne: Deed = (town, random) => {
  const project = random.pick(town.character.projects);
  const source = random.pick(town.sources(project));
  if (source === undefined) return undefined;
  town.repositories.get(project)?.delete(source.ref);
  if (random.chance(0.3)) town.vanished.push(source);
  return `delete ${project} ${sourceKey(source.ref)}${perhapsNudge(town, random, project)}`;
};

const deleteMany: Deed = (town, random) =>
  deleteShare(town, random, random.pick(town.character.projects), random.pick([0.5, 0.9, 1]));

/** The largest project loses nearly everything: what the deletion guard is for. */
export const exodus = (town: Town, seed: number): string => {
  const largest = town.character.projects.reduce((a, b) => (town.sources(b).length > town.sources(a).length ? b : a));
  return deleteShare(town, new Random(seed), largest, 0.95);
};

const deleteShare = (town: Town, random: Random, project: ProjectId, share: number): string => {
  const gone = town.sources(project).filter(() => random.chance(share));
  for (const { ref } of gone) town.repositories.get(project)?.delete(ref);
  town.vanished.push(...gone);
  return `delete ${gone.length} refs of ${project} at once${perhapsNudge(town, random, project)}`;
};

const restore: Deed = (town, random) => {
  const back = town.vanished.splice(0).filter(() => random.chance(0.7));
  for (const source of back) town.point(source);
  return back.length === 0 ? undefined : `restore ${back.length} refs`;
};

const crash: Deed = (town, random) => {
  const keyLost = random.chance(0.2);
  if (keyLost) town.serverKey = `key ${random.below(1_000_000)}`;
  const dropped = random.chance(0.1) ? random.pick(town.character.projects) : undefined;
  town.start(town.character.projects.filter((id) => id !== dropped));
  return `crash and start${keyLost ? ' without the server key' : ''}${dropped === undefined ? '' : ` without project ${dropped}`}`;
};

const jump: Deed = (town, random) => {
  const ms = random.pick([-86_400_000, -3_600_000, -5_000, 5_000, 3_600_000, 5 * 86_400_000]);
  town.jump(ms);
  return `the clock jumps by ${ms} ms`;
};

const release: Deed = (town, random) => {
  const held = town.engine.environments().filter((one) => one.held);
  const one = random.pick(held);
  if (one === undefined || !town.engine.release(one.id)) return undefined;
  town.witness.surveys.release(one.id);
  return `an operator releases ${one.name}`;
};

const hint: Deed = (town, random) => {
  const id = random.pick<EnvironmentId>([...town.infrastructure.environments.keys()]);
  if (id === undefined || random.chance(0.3)) {
    town.engine.wakeAll();
    return 'somebody asks for a pass';
  }
  town.provider.changed(id);
  return `the provider notices something about ${id}`;
};

const outage: Deed = (town, random) => {
  const party = random.pick(['provider', ...town.character.projects]);
  if (!town.outages.delete(party)) {
    town.outages.add(party);
    return `${party} stops answering`;
  }
  return `${party} answers again`;
};

const heal: Deed = (town, random) => {
  const one = random.pick([...town.broken]);
  if (one === undefined) return undefined;
  town.broken.delete(one);
  return `${one} can get ready now`;
};

/** Weights are per mille, more or less. */
const deeds: readonly (readonly [number, Deed])[] = [
  [720, goOn],
  [120, letTimePass],
  [50, push],
  [10, pushMany],
  [5, pointElsewhere],
  [8, goBack],
  [25, deleteOne],
  [10, deleteMany],
  [5, restore],
  [4, jump],
  [8, release],
  [20, hint],
  [4, outage],
  [3, heal],
];

const totalWeight = deeds.reduce((sum, [weight]) => sum + weight, 0);
