import { type EnvironmentId, EphError, type ProjectId, type Source, type SourceRef, sourceKey } from '@eph/contract';
import { tagOfFixed } from './builds.ts';
import { describeProgress, type Loss, type Operation, type Waiting } from './calls.ts';
import { anyContent, anyOdd, anySound, componentsOf, move, withMark } from './contents.ts';
import type { SimulationHarness } from './harness.ts';
import { Random } from './random.ts';
import { registryParty } from './simulated-registry.ts';

/** Does one thing and describes it; `undefined` if there is nothing to do it to. */
type FaultStep = (harness: SimulationHarness, random: Random) => string | undefined;

/**
 * One step among faults. It depends on its own seed and on the state it finds, and on no earlier step, so that steps can be left
 * out of a history.
 */
export const takeStep = (harness: SimulationHarness, seed: number): string => {
  const random = new Random(seed);
  const possible: typeof faultSteps = [[harness.profile.crashes, crash], ...faultSteps];
  let lot = random.next() * (totalWeight + harness.profile.crashes);
  const [, step] = possible.find(([weight]) => (lot -= weight) < 0) ?? [0, letTimePass];
  return step(harness, random) ?? goOn(harness, random) ?? letTimePass(harness, random) ?? 'nothing happens';
};

const goOn: FaultStep = (harness, random) => {
  const waiting = harness.calls.take(random.below(2 ** 32));
  if (waiting === undefined) return undefined;
  const { operation, about, party } = waiting.call;
  if (harness.away.has(party)) return harness.letGo(waiting, random);
  const likelihood = harness.outages.has(party) ? 0.6 : harness.profile.faultRate;
  const fault = random.chance(likelihood) ? random.pick(faultsOf(harness, waiting)) : undefined;
  if (fault === 'fails') {
    waiting.fail(errorOf(operation, random));
    return `${operation} ${about} fails ${{ before: 'before it takes place', during: 'half-way', after: 'afterwards' }[waiting.moment]}`;
  }
  waiting.call.loss = fault;
  waiting.goOn();
  return `${describeProgress(waiting)}${fault === undefined ? '' : `: ${fault}`}`;
};

const faultsOf = (harness: SimulationHarness, waiting: Waiting): readonly ('fails' | Loss)[] => {
  const { operation, party } = waiting.call;
  const { moment } = waiting;
  switch (operation) {
    case 'sources':
      return moment === 'before' ? ['fails', 'half', 'empty', 'lying half', 'lying empty'] : [];
    case 'list':
      if (moment === 'before' && !waiting.call.key.startsWith('environment:')) return ['fails'];
      return harness.profile.liar === party ? ['half', 'empty', 'torn', 'lying half', 'lying empty'] : ['half', 'empty', 'torn'];
    case 'source':
      return moment === 'before' ? ['fails'] : [];
    case 'find':
    case 'inspect':
      return moment === 'before' ? ['fails', 'lying empty'] : ['fails'];
    case 'tags':
      return moment === 'before' ? ['fails', 'lying half', 'lying empty'] : ['fails'];
    default:
      return ['fails'];
  }
};

/** Only failures that are retried: after one that needs a person, nothing would converge when faults stop. Registries are asked again. */
const errorOf = (operation: Operation, random: Random): Error => {
  if (operation === 'find' || operation === 'inspect' || operation === 'tags') {
    if (random.chance(0.3)) return new EphError('registry.refused', 'denied');
    return new EphError('registry.unreachable', 'no answer', { retryAfterMs: random.pick([undefined, 20_000]) });
  }
  if (random.chance(0.2)) return new Error('nobody foresaw this');
  if (operation === 'sources' || operation === 'source' || operation === 'readNote')
    return new EphError('forge.unreachable', 'no answer');
  if (operation === 'readFile' || operation === 'committedAt')
    return new EphError('source.commit_missing', 'the commit is not there yet');
  return new EphError('provider.unreachable', 'no answer');
};

const letTimePass: FaultStep = (harness, random) => {
  const due = harness.clock.nextDue();
  const ms = due === undefined || random.chance(0.2) ? random.below(20_000) : Math.max(0, due - harness.clock.now());
  harness.clock.advance(ms);
  return `${Math.round(ms)} ms pass`;
};

const anyRef = (harness: SimulationHarness, random: Random): SourceRef => {
  if (random.chance(0.8)) return { kind: 'branch', name: `preview/${random.below(harness.profile.previews)}` };
  return random.pick<SourceRef>([
    { kind: 'tag', name: `v${random.below(3)}` },
    { kind: 'branch', name: 'main' },
    { kind: 'branch', name: 'release/1' },
  ]);
};

/** Hints can be lost. A forge that limits readings sends webhooks, also for a project that has left. */
const perhapsNudge = (harness: SimulationHarness, random: Random, project: ProjectId): string => {
  if (random.chance(0.5)) return '';
  if (harness.profile.limited.has(project)) harness.engine.announce(project);
  else harness.forges.get(project)?.nudge();
  return ', noticed';
};

/** It comes late, twice, or for something that Eph does not read. */
const webhook: FaultStep = (harness, random) => {
  const project = random.pick([...harness.profile.limited]);
  if (project === undefined) return undefined;
  harness.engine.announce(project);
  return `a webhook of ${project} arrives`;
};

/** A repository leaves its organisation while ephd runs, or returns. */
const leaveOrReturn: FaultStep = (harness, random) => {
  const project = random.pick(harness.profile.projects);
  if (harness.missing.includes(project)) {
    harness.join([project]);
    return `${project} returns`;
  }
  harness.leave(project);
  return `${project} leaves`;
};

const push: FaultStep = (harness, random) => {
  const project = random.pick(harness.profile.projects);
  const ref = anyRef(harness, random);
  const any = ref.name.startsWith('preview/') ? anyContent(random) : anyOdd(random);
  const component = random.chance(0.1) ? random.pick(any.shape === undefined ? [] : componentsOf(any.shape)) : undefined;
  // What the commit does not change is not broken by it.
  const content = component === undefined ? any : withMark(any, String(random.below(2 ** 32)));
  const commit = harness.push(project, ref, content);
  if (component !== undefined) harness.broken.add(`${commit}/${component}`);
  const flaw = component === undefined ? '' : `, whose ${component} never gets ready`;
  const what = `push ${project} ${sourceKey(ref)} at ${commit.slice(0, 7)}: ${content.label}${flaw}`;
  return `${what}${perhapsBuild(harness, random, { project, ref, commit })}${perhapsNudge(harness, random, project)}`;
};

const imageContents = ['a', 'b', 'c'] as const;

/** CI pushes images for all components that run one. */
const build = (harness: SimulationHarness, random: Random, source: Source): void => {
  const kinds = new Set(Object.values(harness.contentAt(source.commit).shape?.images ?? {}));
  for (const kind of kinds) if (kind !== 'fixed') harness.builds.build(source, kind, random.pick(imageContents));
};

const namesImages = (harness: SimulationHarness, { commit }: Source): boolean =>
  Object.keys(harness.contentAt(commit).shape?.images ?? {}).length > 0;

/** CI may have been faster than whoever notices the push. */
const perhapsBuild = (harness: SimulationHarness, random: Random, source: Source): string => {
  if (!namesImages(harness, source) || random.chance(0.6)) return '';
  build(harness, random, source);
  return ', built';
};

const sourceWithImages = (harness: SimulationHarness, random: Random): Source | undefined => {
  const sources = harness.profile.projects.flatMap((project) => harness.sources(project));
  return random.pick(sources.filter((source) => namesImages(harness, source)));
};

const finishBuild: FaultStep = (harness, random) => {
  const source = sourceWithImages(harness, random);
  if (source === undefined) return undefined;
  build(harness, random, source);
  const isAnnounced = random.chance(0.3);
  if (isAnnounced) harness.announceImages(source.project);
  return `CI builds ${source.project} ${source.commit.slice(0, 7)}${isAnnounced ? ', announced' : ''}`;
};

/** Everything that is wanted gets its image. */
export const finishBuilds = (harness: SimulationHarness, random: Random): string => {
  const sources = harness.profile.projects.flatMap((project) => harness.sources(project));
  const left = sources.filter((source) => lacksImage(harness, source));
  for (const source of left) build(harness, random, source);
  return `CI builds what is left: ${left.length}`;
};

const lacksImage = (harness: SimulationHarness, source: Source): boolean => {
  const { shape } = harness.contentAt(source.commit);
  return Object.values(shape?.images ?? {}).some((kind) => !harness.builds.has(source, kind));
};

const tidyRegistry: FaultStep = (harness, random) => {
  const source = sourceWithImages(harness, random);
  if (source === undefined) return undefined;
  harness.builds.delete(source);
  return `the registry deletes images of ${source.project} ${source.commit.slice(0, 7)}`;
};

const moveFixed: FaultStep = (harness, random) => {
  const project = random.pick(harness.profile.projects);
  harness.builds.moveFixed(project);
  return `${tagOfFixed(project)} moves`;
};

const pushMany: FaultStep = (harness, random) => {
  const project = random.pick(harness.profile.projects);
  const content = anySound(random);
  for (let index = 0; index < harness.profile.previews; index += 1) {
    if (random.chance(0.2)) continue;
    const ref: SourceRef = { kind: 'branch', name: `preview/${index}` };
    perhapsBuild(harness, random, { project, ref, commit: harness.push(project, ref, content) });
  }
  return `push most previews of ${project}: ${content.label}${perhapsNudge(harness, random, project)}`;
};

/** A project gets environments that it can lose later. */
export const pushPreviews = (harness: SimulationHarness, seed: number): string => pushMany(harness, new Random(seed)) ?? '';

/** The first steps of an episode create environments that can be lost later. */
export const pushPreview = (harness: SimulationHarness, seed: number): string => {
  const random = new Random(seed);
  const project = random.pick(harness.profile.projects);
  const name = `preview/${random.below(harness.profile.previews)}`;
  const content = anySound(random);
  const ref: SourceRef = { kind: 'branch', name };
  const commit = harness.push(project, ref, content);
  return `push ${project} branch:${name}: ${content.label}${perhapsBuild(harness, random, { project, ref, commit })}`;
};

/** A component moves to another provider, perhaps under another name. Going back to the commit before moves it back. */
const moveComponents: FaultStep = (harness, random) => {
  const project = random.pick(harness.profile.projects);
  const source = random.pick(harness.sources(project));
  const content = source === undefined ? undefined : move(harness.contentAt(source.commit), random);
  if (source === undefined || content === undefined) return undefined;
  const commit = harness.push(project, source.ref, content);
  const noticed = perhapsNudge(harness, random, project);
  const built = perhapsBuild(harness, random, { ...source, commit });
  return `push ${project} ${sourceKey(source.ref)} at ${commit.slice(0, 7)}: now ${content.label}${built}${noticed}`;
};

const pointElsewhere: FaultStep = (harness, random) => {
  const project = random.pick(harness.profile.projects);
  const source = random.pick(harness.sources(project));
  const ref = anyRef(harness, random);
  if (source === undefined) return undefined;
  harness.point({ ...source, ref });
  return `point ${project} ${sourceKey(ref)} at ${source.commit.slice(0, 7)}${perhapsNudge(harness, random, project)}`;
};

const goBack: FaultStep = (harness, random) => {
  const project = random.pick(harness.profile.projects);
  const source = random.pick(harness.sources(project));
  const past = source === undefined ? undefined : random.pick(harness.pastOf(project, source.ref));
  if (past === undefined) return undefined;
  harness.point(past);
  return `point ${project} ${sourceKey(past.ref)} back at ${past.commit.slice(0, 7)}${perhapsNudge(harness, random, project)}`;
};

export const deleteOne: FaultStep = (harness, random) => {
  const project = random.pick(harness.profile.projects);
  const source = random.pick(harness.sources(project));
  if (source === undefined) return undefined;
  harness.repositories.get(project)?.delete(source.ref);
  if (random.chance(0.3)) harness.vanished.push(source);
  return `delete ${project} ${sourceKey(source.ref)}${perhapsNudge(harness, random, project)}`;
};

const deleteMany: FaultStep = (harness, random) =>
  deleteShare(harness, random, random.pick(harness.profile.projects), random.pick([0.5, 0.9, 1]));

export const largestProject = (harness: SimulationHarness): ProjectId =>
  harness.profile.projects.reduce((a, b) => (harness.sources(b).length > harness.sources(a).length ? b : a));

/** The largest project loses many refs: the case for the deletion guard. */
export const massDeletion = (harness: SimulationHarness, seed: number): string => {
  const largest = largestProject(harness);
  const random = new Random(seed);
  const count = harness.sources(largest).length;
  // A few more than may be removed at once, or nearly all.
  return deleteShare(harness, random, largest, random.chance(0.7) ? (6 + random.below(4)) / count : 0.95);
};

const deleteShare = (harness: SimulationHarness, random: Random, project: ProjectId, share: number): string => {
  const gone = harness.sources(project).filter(() => random.chance(share));
  for (const { ref } of gone) harness.repositories.get(project)?.delete(ref);
  harness.vanished.push(...gone);
  return `delete ${gone.length} refs of ${project} at once${perhapsNudge(harness, random, project)}`;
};

const restore: FaultStep = (harness, random) => {
  const back = harness.vanished.splice(0).filter(() => random.chance(0.7));
  for (const source of back) harness.point(source);
  return back.length === 0 ? undefined : `restore ${back.length} refs`;
};

const crash: FaultStep = (harness, random) => {
  const keyLost = random.chance(0.2);
  if (keyLost) harness.serverKey = `key ${random.below(1_000_000)}`;
  const dropped = random.chance(0.1) ? random.pick(harness.profile.projects) : undefined;
  const retired = random.chance(0.1) ? random.pick(harness.providers) : undefined;
  const away = random.chance(0.3) ? random.pick(harness.providers) : undefined;
  if (away !== undefined) harness.away.add(away);
  harness.start({
    projects: harness.profile.projects.filter((id) => id !== dropped),
    retired: new Set(retired === undefined ? [] : [retired]),
  });
  return [
    'crash and start',
    ...(keyLost ? ['without the server key'] : []),
    ...(dropped === undefined ? [] : [`without project ${dropped}`]),
    ...(retired === undefined ? [] : [`without provider ${retired}`]),
    ...(away === undefined ? [] : [`while ${away} is away`]),
  ].join(', ');
};

const jump: FaultStep = (harness, random) => {
  const ms = random.pick([-86_400_000, -3_600_000, -5_000, 5_000, 3_600_000, 5 * 86_400_000]);
  harness.jump(ms);
  return `the clock jumps by ${ms} ms`;
};

const release: FaultStep = (harness, random) => {
  const id = random.pick(harness.releasable());
  return id === undefined || !harness.release(id) ? undefined : `an operator releases ${id}`;
};

const hint: FaultStep = (harness, random) => {
  const provider = random.pick(harness.simulated);
  const held = provider === undefined ? [] : [...(harness.infrastructures.get(provider.name)?.environments.keys() ?? [])];
  const id = random.pick<EnvironmentId>(held);
  if (provider === undefined || id === undefined || random.chance(0.3)) {
    harness.engine.wakeAll();
    return 'somebody asks for a pass';
  }
  provider.changed(id);
  return `${provider.name} notices something about ${id}`;
};

const outage: FaultStep = (harness, random) => {
  const party = random.pick<string>([...harness.providers, ...harness.profile.projects, registryParty]);
  if (party === undefined) return undefined;
  if (!harness.outages.delete(party)) {
    harness.outages.add(party);
    return `${party} hardly answers`;
  }
  return `${party} answers again`;
};

/** A provider or the registry goes away or hangs until it is back. */
const disappear: FaultStep = (harness, random) => {
  const party = random.pick([...harness.providers, registryParty]) ?? registryParty;
  if (harness.away.delete(party) || harness.calls.hung.delete(party)) return `${party} is back`;
  const hangs = random.chance(0.4);
  (hangs ? harness.calls.hung : harness.away).add(party);
  return `${party} ${hangs ? 'hangs' : 'is away'}`;
};

const heal: FaultStep = (harness, random) => {
  const one = random.pick([...harness.broken]);
  if (one === undefined) return undefined;
  harness.broken.delete(one);
  return `${one} can get ready now`;
};

/** The weight of each, roughly per mille. */
const faultSteps: readonly (readonly [number, FaultStep])[] = [
  [720, goOn],
  [120, letTimePass],
  [50, push],
  [14, pushMany],
  [20, moveComponents],
  [5, pointElsewhere],
  [8, goBack],
  [20, deleteOne],
  [4, deleteMany],
  [5, restore],
  [4, jump],
  [8, release],
  [20, hint],
  [4, outage],
  [12, disappear],
  [3, heal],
  [25, finishBuild],
  [4, tidyRegistry],
  [2, moveFixed],
  [4, leaveOrReturn],
  [8, webhook],
];

const totalWeight = faultSteps.reduce((sum, [weight]) => sum + weight, 0);
