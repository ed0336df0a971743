import { shippedComments } from '@eph/adapters/forge-http/comments.fake';
import type { CommitSha, EnvironmentId } from '@eph/contract';
import { componentName } from '@eph/contract';
import type { ForgeChaosHarness } from './forge-chaos-harness.ts';
import type { Violation } from './verifier.ts';

const web = componentName('web');

/** Every difference between the environments and the true state of the forge. Empty if they have converged. */
export const findDifferences = async (
  harness: ForgeChaosHarness,
  deletedReports: ReadonlyMap<number, number>,
): Promise<readonly Violation[]> => {
  const { fixture, verifier, infrastructure } = harness;
  const living = new Map([...infrastructure.environments].map(([id, { identity }]) => [Number(identity.source.name), id]));
  const wanted = verifier.pulls.filter((number) => verifier.wants(number));
  const differences = [
    ...wanted.flatMap((number) => compareEnvironment(harness, number, living.get(number))),
    ...[...living.keys()]
      .filter((number) => !wanted.includes(number))
      .map((number) => `the environment of pull request ${number} was not removed`),
    ...compareDeployed(
      fixture.deployed(),
      wanted.map((number) => verifier.commitOf(number)),
    ),
  ];
  const ids = new Map([...harness.reports.values()].map(({ source, environment }) => [Number(source.name), environment]));
  const comparisons = verifier.pulls.map((number) =>
    compareReports(harness, number, {
      id: ids.get(number),
      isWanted: wanted.includes(number),
      isReportDeleted: deletedReports.get(number) === harness.lifeOf(number),
    }),
  );
  const reportDifferences = (await Promise.all(comparisons)).flat();
  return [
    ...differences.map((message) => ({ invariant: 'environments converge', message }) as const),
    ...reportDifferences.map((message) => ({ invariant: 'one report per pull request', message }) as const),
  ];
};

const compareEnvironment = (
  { verifier, infrastructure }: ForgeChaosHarness,
  number: number,
  id: EnvironmentId | undefined,
): readonly string[] => {
  const environment = id === undefined ? undefined : infrastructure.environments.get(id);
  if (environment === undefined) return [`pull request ${number} has no environment`];
  const commit = verifier.commitOf(number);
  const serving: CommitSha | undefined = environment.slots.get(web)?.current?.component.commit;
  return serving === commit ? [] : [`pull request ${number} wants ${commit}, and ${serving ?? 'nothing'} answers`];
};

const compareDeployed = (deployed: readonly string[] | undefined, wanted: readonly string[]): readonly string[] => {
  if (deployed === undefined) return [];
  const heads = new Set(wanted);
  return [
    ...[...heads].filter((commit) => !deployed.includes(commit)).map((commit) => `the forge does not list ${commit} as deployed`),
    ...deployed.filter((commit) => !heads.has(commit)).map((commit) => `the forge still lists ${commit} as deployed`),
    ...(new Set(deployed).size === deployed.length ? [] : ['the forge lists something twice as deployed']),
  ];
};

const compareReports = async (
  { fixture, reports, failures }: ForgeChaosHarness,
  number: number,
  {
    id,
    isWanted,
    isReportDeleted,
  }: { readonly id: EnvironmentId | undefined; readonly isWanted: boolean; readonly isReportDeleted: boolean },
): Promise<readonly string[]> => {
  const written = await fixture.reports(number);
  const last = id === undefined ? undefined : reports.get(id);
  if (written.length > 1) return [`pull request ${number} has ${written.length} reports`];
  if (last === undefined) return isWanted || written.length > 0 ? [`pull request ${number} has no report`] : [];
  const phase = isWanted ? 'Ready' : 'Removed';
  const failed = failures.get(`report:${id}`) ?? 'no report failed since';
  if (last.view.phase !== phase)
    return [`pull request ${number} was last reported as ${last.view.phase}, not ${phase} (${failed})`];
  const [report] = written;
  if (isReportDeleted) return report === undefined ? [] : [`pull request ${number} shows a report that a user deleted`];
  if (report === undefined) return [`pull request ${number} shows no report`];
  return report.body === shippedComments.renderComment(last) ? [] : [`pull request ${number} shows another report than the last`];
};
