import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EnvironmentView } from '@eph/contract';
import type { EphdHarness } from '../e2e/ephd-harness.ts';
import { descendsFrom, readProcessesNaming, type ServiceProcess } from '../e2e/service-processes.ts';

/** What should run for one branch, according to Git. */
export interface Expected {
  readonly branch: string;
  readonly commit: string;
  readonly components: readonly string[];
  /** Whether the gateway routes to it: a worker does not listen. */
  readonly answers: boolean;
}

/** The identity of an environment, as recorded in its folder. */
export interface Identity {
  readonly id: string;
  readonly branch: string;
  readonly name: string;
  readonly createdAt: string;
}

/** What runs, what is on disk, what the API of ephd reports and what the gateway answers. */
export interface ObservedState {
  readonly processes: readonly ServiceProcess[];
  readonly identities: readonly Identity[];
  readonly environments: readonly EnvironmentView[];
  /** Helper processes, such as Git, that an earlier ephd started and that should have ended with it. */
  readonly leftovers: readonly string[];
  /** The commit that answers, by branch. */
  readonly answers: ReadonlyMap<string, string>;
}

export const readObservedState = async (
  harness: EphdHarness,
  expected: readonly Expected[],
  ephdPid: number,
): Promise<ObservedState> => {
  const environments = await harness.environments();
  const answers = new Map<string, string>();
  for (const { branch, answers: listens } of expected) {
    const name = environments.find((one) => one.source.name === branch)?.name;
    if (!listens || name === undefined) continue;
    const { status, body } = await harness.visit(name);
    answers.set(branch, status === 200 ? (JSON.parse(body) as { commit: string }).commit : `status ${status}`);
  }
  return {
    environments,
    answers,
    processes: harness.services(),
    identities: readIdentities(harness.dataFolder),
    leftovers: readLeftovers(harness, ephdPid),
  };
};

/** Helper processes, such as Git, of an earlier ephd. */
export const readLeftovers = (harness: EphdHarness, ephdPid: number): readonly string[] => {
  const services = new Set(harness.services().map((one) => one.pid));
  const helpers = readProcessesNaming(harness.folder).filter(({ pid }) => !descendsFrom(pid, ephdPid) && !services.has(pid));
  return helpers.map(({ pid, command }) => `process ${pid} of an earlier ephd is left: ${command}`);
};

export const readIdentities = (dataFolder: string): readonly Identity[] => {
  const folder = join(dataFolder, 'process');
  const ids = readdirSync(folder).filter((name) => /^[0-9a-f]{16}$/.test(name));
  return ids.flatMap((id) => readIdentity(join(folder, id, 'environment.json')) ?? []);
};

const readIdentity = (path: string): Identity | undefined => {
  try {
    const { record } = JSON.parse(readFileSync(path, 'utf8')) as {
      record: { id: string; name: string; createdAt: string; source: { name: string } };
    };
    return { id: record.id, branch: record.source.name, name: record.name, createdAt: record.createdAt };
  } catch {
    return undefined; // Removed since the list was read.
  }
};

/** Every difference between the observed state and Git, as sentences. Empty if it has converged. */
export const findDifferences = (expected: readonly Expected[], observed: ObservedState): readonly string[] => [
  ...expected.flatMap((one) => findShortcomings(one, observed)),
  ...findOrphans(expected, observed),
];

const findShortcomings = ({ branch, commit, components, answers }: Expected, observed: ObservedState): readonly string[] => {
  const faults: string[] = [];
  const view = observed.environments.find((one) => one.source.name === branch);
  if (view === undefined) return [`${branch} has no environment`];
  if (!observed.identities.some((one) => one.id === view.id && one.name === view.name))
    faults.push(`${branch} has no folder of its name`);
  if (view.commit !== commit) faults.push(`${branch} is said to be at ${view.commit}, not at ${commit}`);
  if (view.phase !== 'Ready') faults.push(`${branch} is ${view.phase}: ${view.summary}`);
  for (const component of components) {
    const running = leaders(observed.processes).filter((one) => one.environment === view.id && one.component === component);
    const right = running.filter((one) => one.variables['EPH_COMMIT'] === commit);
    if (right.length !== 1) faults.push(`${branch} has ${right.length} processes for ${component} at ${commit}, not 1`);
  }
  if (answers && observed.answers.get(branch) !== commit)
    faults.push(`${branch} answers ${observed.answers.get(branch)}, not ${commit}`);
  return faults;
};

/** What exists without a branch that asks for it. */
export const findOrphans = (expected: readonly Expected[], observed: ObservedState): readonly string[] => {
  const wanted = new Map(expected.map((one) => [one.branch, one]));
  const ids = new Map(observed.identities.map((one) => [one.id, one.branch]));
  const isWanted = ({ environment, component, variables }: ServiceProcess): boolean => {
    const owner = wanted.get(ids.get(environment) ?? '');
    return owner?.commit === variables['EPH_COMMIT'] && owner?.components.includes(component) === true;
  };
  return [
    ...observed.processes
      .filter((one) => !isWanted(one))
      .map(
        (one) => `process ${one.pid} runs ${one.component} of ${one.environment} at ${one.variables['EPH_COMMIT']} for nobody`,
      ),
    ...observed.leftovers,
    ...observed.identities
      .filter((one) => !wanted.has(one.branch))
      .map((one) => `the folder of ${one.branch} (${one.id}) is left`),
    ...observed.environments.filter((one) => !wanted.has(one.source.name)).map((one) => `ephd still shows ${one.source.name}`),
  ];
};

/** Each start of a service is a session; its leader represents all its processes. */
const leaders = (processes: readonly ServiceProcess[]): readonly ServiceProcess[] =>
  processes.filter((one) => one.pid === one.session);

/**
 * Processes that do the same work at the same time. During an update two versions run side by side, and no two versions of a
 * branch have the same commit here, so the same component at the same commit with the same reference is one too many.
 */
export const findDoubles = (processes: readonly ServiceProcess[]): readonly (readonly [ServiceProcess, ServiceProcess])[] => {
  const first = new Map<string, ServiceProcess>();
  const doubles: (readonly [ServiceProcess, ServiceProcess])[] = [];
  for (const one of leaders(processes)) {
    const { EPH_COMMIT: commit, API: api = '' } = one.variables;
    // A sandbox that starts or ends does not show what it is for.
    if (commit === undefined) continue;
    const work = [one.environment, one.component, commit, api].join(' ');
    const other = first.get(work);
    if (other === undefined) first.set(work, one);
    else doubles.push([other, one]);
  }
  return doubles;
};
