import { commitSha } from '@eph/contract';
import type { EnvironmentRecord } from '@eph/engine/loop/memory';
import { composeText } from '@eph/engine/report/plain-text';
import { composeView } from '@eph/engine/report/view';
import { describeProgress } from './calls.ts';
import { differenceToGit, leftover } from './difference.ts';
import type { Random } from './random.ts';
import type { Town } from './town.ts';

/** Once faults stop, so many passes are enough to make the world what Git says. */
export const passesToConverge = 12;

/** Far more calls than any world of this size needs between two moments: whoever makes them runs in a circle. */
const restlessCalls = 20_000;

const longestBackoffMs = 1_000_000;

/** Faults stop, and the world has to become what Git says; then an operator releases what is held, and that has to go too. */
export const calmDown = async (town: Town, random: Random, note: (line: string) => Promise<void>): Promise<number> => {
  town.outages.clear();
  const healed = random.chance(0.5);
  if (healed) town.broken.clear();
  const restarted = town.configured.length < town.character.projects.length;
  if (restarted) town.start();
  await note(`faults stop${healed ? ', and everything can get ready now' : ''}${restarted ? '; a start with all projects' : ''}`);
  const passes = await converge(town, random, note, differenceToGit);
  if (town.witness.violation !== undefined) return passes;
  for (const known of town.engine.environments())
    if (known.held && town.engine.release(known.id)) town.witness.surveys.release(known.id);
  await note('an operator releases everything that is held');
  const more = await converge(town, random, note, (one) => differenceToGit(one) ?? leftover(one));
  await leaveAlone(town, random, note);
  await waitForReports(town, random, note);
  return Math.max(passes, more);
};

/** A report that could not be delivered is tried again, at the latest after the longest back-off. */
const waitForReports = async (town: Town, random: Random, note: (line: string) => Promise<void>): Promise<void> => {
  const until = town.clock.now() + longestBackoffMs;
  while (town.witness.violation === undefined) {
    const misreported = town.engine.environments().find((known) => town.reports.get(known.id) !== reportOf(known));
    if (misreported === undefined) return;
    if (town.clock.now() > until) town.witness.accuse('people are told', `${misreported.name} is not what was reported last`);
    await moveOn(town, note);
    await letRest(town, random, note);
  }
};

const reportOf = (known: EnvironmentRecord): string =>
  composeText(
    composeView({
      ...known,
      url: `http://${known.name}.localhost`,
      source: known.ref,
      commit: known.source?.commit ?? commitSha('0'.repeat(40)),
      because: known.decision.because,
      failures: [],
      resolved: [],
      notes: [],
      expiresAt: null,
    }),
  );

/** Lets the engine work, undisturbed, until nothing differs; returns how many passes it took. */
const converge = async (
  town: Town,
  random: Random,
  note: (line: string) => Promise<void>,
  differenceIn: (town: Town) => string | undefined,
): Promise<number> => {
  const first = town.passes;
  for (let looked = -1; town.witness.violation === undefined; ) {
    await letRest(town, random, note);
    if (looked !== town.passes) {
      looked = town.passes;
      const difference = differenceIn(town);
      if (difference === undefined) return looked - first;
      // One pass more: the first may have begun with a reading from before.
      if (looked - first > passesToConverge + 1)
        town.witness.accuse('the world converges', `after ${looked - first} passes, ${difference}`);
    }
    if (town.witness.violation === undefined) await moveOn(town, note);
  }
  return 0;
};

/** A world that is as it should be is not touched, but for the last tidying, and a pass over it is one listing of each kind. */
const leaveAlone = async (town: Town, random: Random, note: (line: string) => Promise<void>): Promise<void> => {
  await onePass(town, random, note);
  const { effects } = town.witness;
  const slots = [...town.infrastructure.environments.values()].flatMap((environment) => [...environment.slots.values()]);
  const moves = slots.some((slot) => slot.next !== undefined);
  const lines = await onePass(town, random, note);
  if (town.witness.effects > effects)
    town.witness.accuse('the world converges', 'something is done to a world that is as it should be');
  const needless = lines.find((line) => !/^(list everything|sources|deliver) /.test(line));
  if (needless !== undefined && !moves) town.witness.accuse('an idle pass is cheap', needless);
};

const onePass = async (town: Town, random: Random, note: (line: string) => Promise<void>): Promise<readonly string[]> => {
  const lines: string[] = [];
  const { passes } = town;
  while (town.passes === passes && town.witness.violation === undefined) {
    await moveOn(town, note);
    await letRest(town, random, (line) => {
      lines.push(line);
      return note(line);
    });
  }
  return lines;
};

const letRest = async (town: Town, random: Random, note: (line: string) => Promise<void>): Promise<void> => {
  for (let calls = 0; town.calls.count > 0 && town.witness.violation === undefined; calls += 1) {
    const waiting = town.calls.take(random.below(2 ** 32));
    if (waiting === undefined) return;
    waiting.goOn();
    await note(describeProgress(waiting));
    if (calls > restlessCalls) town.witness.accuse('the world converges', 'the engine does not come to rest');
  }
};

const moveOn = async (town: Town, note: (line: string) => Promise<void>): Promise<void> => {
  const due = town.clock.nextDue();
  if (due === undefined) return town.witness.accuse('the world converges', 'no pass is to come');
  const ms = Math.max(0, due - town.clock.now());
  town.clock.advance(ms);
  await note(`${Math.round(ms)} ms pass`);
};
