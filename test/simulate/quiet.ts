import { commitSha, type EnvironmentId } from '@eph/contract';
import { composeText } from '@eph/engine/report/plain-text';
import { composeView } from '@eph/engine/report/view';
import {
  type Difference,
  differenceBeside,
  differenceBesideRegistry,
  differenceToGit,
  leftover,
  leftoverOn,
} from './difference.ts';
import { deleteOne, finishBuilds, largestProject, pushPreview } from './faults.ts';
import type { SimulationHarness } from './harness.ts';
import type { Random } from './random.ts';
import { registryParty } from './simulated-registry.ts';

/** Once faults stop, everything is as Git says after at most this many passes. */
export const passesToConverge = 16;

/** More calls than this without time passing mean an endless loop. */
const restlessCalls = 20_000;

const longestBackoffMs = 1_000_000;

/** A change that no webhook announced is found at the latest after so long. */
const longestIntervalMs = 600_000;

type Note = (line: string) => Promise<void>;

/**
 * Faults stop, but for a forge that may show only half of its sources once more and call that complete. Everything has to become what Git
 * says. Then an operator releases what is held, and that has to be removed.
 */
export const runQuiet = async (harness: SimulationHarness, random: Random, note: Note): Promise<number> => {
  harness.endFaults();
  const healed = healSome(harness, random);
  const alone = random.chance(0.2) ? await runWithoutProject(harness, random, note) : 0;
  if (harness.invariants.violation !== undefined) return alone;
  const configured = configureAll(harness, random);
  const lie = random.chance(0.3) ? largestProject(harness) : undefined;
  if (lie !== undefined) harness.lieOnce.add(lie);
  await note(`faults stop${lie === undefined ? '' : `, but ${lie} shows half of its sources once`}${healed}${configured}`);
  await deliverWebhooks(harness, random, note);
  const passes = Math.max(alone, await converge(harness, random, note, differenceToGit));
  if (harness.invariants.violation !== undefined) return passes;
  if (harness.releasable().length > 0 && random.chance(0.7)) await restart(harness, random, note);
  await releaseAll(harness, note);
  await note(finishBuilds(harness, random));
  const more = await converge(harness, random, note, (one) => differenceToGit(one) ?? leftover(one));
  await leaveAlone(harness, random, note);
  await waitForReports(harness, random, note);
  return Math.max(passes, more);
};

/**
 * A project leaves while everything else goes on. The others have to become what Git says, and all of its environments have to be held
 * as they are, except those that an operator released.
 */
const runWithoutProject = async (harness: SimulationHarness, random: Random, note: Note): Promise<number> => {
  const left = random.pick(harness.profile.projects);
  if (harness.retired.size > 0 || harness.configured.every((id) => id === left)) return 0;
  if (harness.configured.includes(left)) harness.leave(left);
  await note(`faults stop, and ${harness.missing.join(' and ')} left`);
  await deliverWebhooks(harness, random, note);
  return converge(harness, random, note, differenceToGit);
};

/** Projects that left return, while the process runs or with a start. Providers change only with a start. */
const configureAll = (harness: SimulationHarness, random: Random): string => {
  if (harness.isFullyConfigured) return '';
  if (harness.retired.size > 0 || random.chance(0.5)) {
    harness.start();
    return '; a start with all projects and providers';
  }
  const returned = harness.missing;
  harness.join(returned);
  return `; ${returned.join(' and ')} returned`;
};

/**
 * As in real use, most webhooks arrive, and each of them leads to a reading at once. Some are lost: what they would have announced is
 * found when the longest interval is over, so that time passes first.
 */
const deliverWebhooks = async (harness: SimulationHarness, random: Random, note: Note): Promise<void> => {
  const { limited } = harness.profile;
  if (limited.size === 0) return;
  const arrived = [...limited].filter(() => random.chance(0.7));
  for (const id of arrived) harness.engine.announce(id);
  await note(`webhooks of ${arrived.length} of ${limited.size} projects arrive`);
  if (arrived.length === limited.size) return;
  harness.clock.advance(longestIntervalMs);
  await note(`${longestIntervalMs} ms pass`);
};

/**
 * All faults stop but one: a provider is away, hangs, lists only half, or is no longer in ephd's file. What does not concern it has to
 * become what Git says, also previews that are pushed or deleted meanwhile. Then, perhaps after an hour, it is back.
 */
export const runWithOneAway = async (harness: SimulationHarness, random: Random, note: Note): Promise<number> => {
  if (random.chance(0.35)) return runWithoutRegistry(harness, random, note);
  const provider = random.pick(harness.providers);
  const how = random.pick(['fails', 'hangs', 'lists half', 'lists half', 'is retired'] as const);
  const restarts = how === 'is retired' || (how !== 'lists half' && random.chance(0.5));
  harness.endFaults();
  const healed = healSome(harness, random);
  // A call that hangs in the middle of an effect holds its worker, and there may be only one.
  await letRest(harness, random, note);
  if (how === 'fails') harness.away.add(provider);
  if (how === 'hangs') harness.calls.hung.add(provider);
  if (how === 'lists half') harness.halved.add(provider);
  if (restarts || !harness.isFullyConfigured) harness.start(how === 'is retired' ? { retired: new Set([provider]) } : {});
  await note(`faults stop, but ${provider} ${how}${restarts ? ' from the start' : ''}${healed}`);
  for (let pushes = random.below(5); pushes > 0; pushes -= 1) await note(pushPreview(harness, random.below(2 ** 32)));
  for (let deletions = random.below(4); deletions > 0; deletions -= 1)
    await note(deleteOne(harness, random) ?? 'nothing to delete');
  await deliverWebhooks(harness, random, note);
  let passes = await converge(harness, random, note, (one) => differenceBeside(one, provider));
  if (how === 'is retired' && harness.invariants.violation === undefined) {
    const released = await releaseAll(harness, note);
    const left = (one: SimulationHarness): Difference | undefined =>
      differenceBeside(one, provider) ?? leftoverOn(one, provider, released);
    passes = Math.max(passes, await converge(harness, random, note, left));
  }
  if (random.chance(0.3)) harness.clock.advance(3_600_000);
  harness.endFaults();
  await note(`${provider} is back`);
  return passes;
};

/**
 * All faults stop but one: the registry fails, hangs, says of everything that it is not there, or fails and lies at random. Nothing that
 * runs may stop.
 */
const runWithoutRegistry = async (harness: SimulationHarness, random: Random, note: Note): Promise<number> => {
  const how = random.pick(['fails', 'hangs', 'denies everything', 'is unreliable', 'is unreliable'] as const);
  const restarts = random.chance(0.5);
  harness.endFaults();
  const healed = healSome(harness, random);
  await letRest(harness, random, note);
  if (how === 'fails') harness.away.add(registryParty);
  if (how === 'hangs') harness.calls.hung.add(registryParty);
  if (how === 'denies everything' || how === 'is unreliable') harness.registryFault = how;
  if (restarts || !harness.isFullyConfigured) harness.start();
  await note(`faults stop, but the registry ${how}${restarts ? ' from the start' : ''}${healed}`);
  const ready = harness.readyComponents();
  for (let pushes = random.below(10); pushes > 0; pushes -= 1) await note(pushPreview(harness, random.below(2 ** 32)));
  await deliverWebhooks(harness, random, note);
  const passes = await converge(harness, random, note, (one) => differenceBesideRegistry(one, ready));
  harness.endFaults();
  await note('the registry is back');
  return passes;
};

const healSome = (harness: SimulationHarness, random: Random): string => {
  if (random.chance(0.5)) return '';
  harness.broken.clear();
  return ', and everything can get ready now';
};

/** What is held stays held. */
const restart = async (harness: SimulationHarness, random: Random, note: Note): Promise<void> => {
  harness.start();
  await note('a restart');
  await converge(harness, random, note, differenceToGit);
};

const releaseAll = async (harness: SimulationHarness, note: Note): Promise<ReadonlySet<EnvironmentId>> => {
  const released = new Set(harness.releasable().filter((id) => harness.release(id)));
  await note('an operator releases everything that is held');
  return released;
};

/** A report that could not be delivered is sent again, at the latest after the longest back-off. */
const waitForReports = async (harness: SimulationHarness, random: Random, note: Note): Promise<void> => {
  const until = harness.clock.now() + longestBackoffMs;
  while (harness.invariants.violation === undefined) {
    const misreported = harness.engine
      .environments()
      .find((record) => withoutCommits(harness.reports.get(record.id) ?? '') !== withoutCommits(reportOf(record)));
    if (misreported === undefined) return;
    if (harness.clock.now() > until)
      harness.invariants.fail('every status is reported', `${misreported.name} is not what was reported last`);
    await moveOn(harness, note);
    await letRest(harness, random, note);
  }
};

const reportOf = (record: ReturnType<SimulationHarness['engine']['environments']>[number]): string =>
  composeText(
    composeView({
      ...record,
      url: `http://${record.name}.localhost`,
      source: record.ref,
      commit: record.source?.commit ?? commitSha('0'.repeat(40)),
      because: record.decision.because,
      failures: [],
      resolved: [],
      notes: [],
      expiresAt: null,
    }),
  );

/** A component that a commit did not change is reported with that commit, which nothing but the draft knows. */
const withoutCommits = (report: string): string => report.replaceAll(/ at [0-9a-f]{12}$/gm, '');

/**
 * Lets the engine work until nothing differs. Returns how many passes it took, not counting those that left out a project for which the
 * limit of its forge had no reading: they have as long as the longest back-off.
 */
const converge = async (
  harness: SimulationHarness,
  random: Random,
  note: Note,
  differenceIn: (harness: SimulationHarness) => Difference | undefined,
): Promise<number> => {
  const first = harness.fullPasses;
  const begun = harness.clock.now();
  for (let compared = -1; harness.invariants.violation === undefined; ) {
    await letRest(harness, random, note);
    if (compared !== harness.passes || harness.clock.now() > begun + longestBackoffMs) {
      compared = harness.passes;
      const difference = differenceIn(harness);
      const passes = harness.fullPasses - first;
      if (difference === undefined) return passes;
      // One pass more: the first may use a reading from before. If a pass never ends, time alone is the limit.
      if (passes > passesToConverge + 1 || harness.clock.now() > begun + longestBackoffMs)
        harness.invariants.fail(difference.invariant, `after ${passes} passes, ${difference.message}`);
    }
    if (harness.invariants.violation === undefined) await moveOn(harness, note);
  }
  return 0;
};

/** Once everything is as it should be, a pass only lists, each provider and each project once. The first pass may still tidy up. */
const leaveAlone = async (harness: SimulationHarness, random: Random, note: Note): Promise<void> => {
  await onePass(harness, random, note);
  const { effects } = harness.invariants;
  const environments = [...harness.infrastructures.values()].flatMap((infrastructure) => [
    ...infrastructure.environments.values(),
  ]);
  const moves = environments.some(({ slots }) => [...slots.values()].some((slot) => slot.next !== undefined));
  const lines = await onePass(harness, random, note);
  if (harness.invariants.effects > effects)
    harness.invariants.fail('environments converge', 'something is changed although everything is as it should be');
  const needless = lines.find(
    (line, index) => !/^(list \S+ everything|sources|deliver) /.test(line) || lines.indexOf(line) < index,
  );
  if (needless !== undefined && !moves) harness.invariants.fail('an idle pass is cheap', needless);
};

const onePass = async (harness: SimulationHarness, random: Random, note: Note): Promise<readonly string[]> => {
  const lines: string[] = [];
  const { passes } = harness;
  while (harness.passes === passes && harness.invariants.violation === undefined) {
    await moveOn(harness, note);
    await letRest(harness, random, (line) => {
      lines.push(line);
      return note(line);
    });
  }
  return lines;
};

/** Calls go on until none is left. Each is one step, and so are the listings of one run: that leaves more steps to faults. */
const letRest = async (harness: SimulationHarness, random: Random, note: Note): Promise<void> => {
  for (let calls = 0; harness.invariants.violation === undefined; calls += 1) {
    let waiting = harness.calls.take(random.below(2 ** 32));
    if (waiting === undefined) return;
    let line = '';
    for (; waiting !== undefined; waiting = harness.calls.takeAgain(waiting.call) ?? harness.calls.takeAlike(waiting.call)) {
      line = harness.letGo(waiting, random);
      await harness.untilBlocked();
    }
    await note(line);
    if (calls > restlessCalls) harness.invariants.fail('environments converge', 'the engine does not come to rest');
  }
};

const moveOn = async (harness: SimulationHarness, note: Note): Promise<void> => {
  const due = harness.clock.nextDue();
  if (due === undefined) return harness.invariants.fail('environments converge', 'no pass is to come');
  const ms = Math.max(0, due - harness.clock.now());
  harness.clock.advance(ms);
  await note(`${Math.round(ms)} ms pass`);
};
