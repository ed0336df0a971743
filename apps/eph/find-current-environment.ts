import { type EnvironmentDetailView, redact } from '@eph/contract';
import { CommandFailure } from './command-failure.ts';
import type { Context } from './context.ts';
import { exitCodes } from './exit-codes.ts';
import { ambiguous, findEnvironment, listEnvironments } from './find-environment.ts';
import { listProjects, listSources } from './list-projects.ts';
import { type Match, matchProjects } from './match-project.ts';
import { type Checkout, readCheckout } from './read-checkout.ts';

export interface CurrentBranch {
  readonly project: string;
  readonly branch: string;
  /** The name of the remote that is the project; undefined where ephd reads the repository of the checkout itself. */
  readonly remote: string | undefined;
}

/**
 * The branch of the checkout that eph is called in, and the project it belongs to.
 * @param wanted the project, where somebody names it
 */
export const findCurrentBranch = async (context: Context, wanted?: string): Promise<CurrentBranch> => {
  const checkout = await readCheckout(context);
  if (checkout.branch === undefined)
    throw notFound('HEAD is detached, so there is no current branch. Switch to a branch, or name what you mean.');
  const { project, remote } = await chooseProject(context, checkout, wanted);
  return { project, branch: checkout.branch, remote: remote?.name };
};

/** By its name, or without one that of the current branch. */
export const findNamedOrCurrent = (context: Context, name: string | undefined): Promise<EnvironmentDetailView> =>
  name === undefined ? findCurrentEnvironment(context) : findEnvironment(context.client, name);

export const findCurrentEnvironment = async (context: Context): Promise<EnvironmentDetailView> => {
  const { client } = context;
  const { project, branch } = await findCurrentBranch(context);
  const [environments, sources] = await Promise.all([listEnvironments(client, { project }), listSources(client, project)]);
  const pulls = new Set(sources.flatMap(({ kind, name, head }) => (kind === 'pr' && head === branch ? [name] : [])));
  // In plain Git, `eph up` copies a branch to one with this prefix.
  const branches = new Set([branch, `preview/${branch}`]);
  const names = { pr: pulls, branch: branches, tag: new Set<string>() } as const;
  const matching = environments.filter(({ source }) => names[source.kind].has(source.name));
  const [first, ...others] = matching;
  if (first === undefined)
    throw notFound(`Branch ${branch} of ${project} has no environment. \`eph up\` requests one, \`eph list\` shows all.`);
  if (others.length > 0) throw ambiguous(matching, `Several environments belong to branch ${branch}; name one:`);
  return client.readEnvironment({ path: { id: first.id } });
};

const chooseProject = async ({ client }: Context, checkout: Checkout, wanted: string | undefined): Promise<Match> => {
  const projects = await listProjects(client);
  const matches = matchProjects(checkout, projects);
  if (wanted !== undefined) return matches.find(({ project }) => project === wanted) ?? { project: wanted, remote: undefined };
  const [first, ...others] = matches;
  if (first !== undefined && others.length === 0) return first;
  const known = projects.map(({ id, address }) => `  ${id}  ${address}`);
  const remotes = checkout.remotes.map(({ name, url }) => `  ${name}  ${redact(url)}`);
  if (first !== undefined)
    throw notFound(
      [
        'This checkout belongs to several projects of ephd; name the environment, or the branch and its --project:',
        ...matches.map(({ project, remote }) => `  ${project}  ${remote?.name ?? 'this repository'}`),
      ].join('\n'),
    );
  throw notFound(
    [
      'This checkout does not belong to a project of ephd.',
      ...(remotes.length === 0 ? ['It has no remotes.'] : ['Its remotes are:', ...remotes]),
      ...(known.length === 0 ? ['There are no projects that you may see.'] : ['The projects are:', ...known]),
    ].join('\n'),
  );
};

const notFound = (message: string): CommandFailure =>
  new CommandFailure('cli.no_current', message, { exitCode: exitCodes.notFound });
