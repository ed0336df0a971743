import { closest, dnsLabel, type EnvironmentDetailView, type EnvironmentView, sourceKey } from '@eph/contract';
import type { Client } from './client.ts';
import { CommandFailure } from './command-failure.ts';
import { exitCodes } from './exit-codes.ts';
import { readPages } from './read-pages.ts';
import { noEnvironments } from './status-view.ts';

/** By id, name, alias, branch or tag, or by a unique prefix of one of them. */
export const findEnvironment = async (client: Client, text: string): Promise<EnvironmentDetailView> => {
  // Ids, names and aliases are DNS labels. Anything else, such as `..`, must not get into a path.
  const exact = dnsLabel.test(text) ? await readIfExists(client, text) : undefined;
  if (exact !== undefined && !(exact instanceof CommandFailure)) return exact;
  const listed = await listEnvironments(client);
  // What is not listed yet may exist.
  if (exact !== undefined && !listed.some((one) => beginsWith(one, text))) throw exact;
  return client.readEnvironment({ path: { id: chooseEnvironment(listed, text).id } });
};

export type ListQuery = NonNullable<NonNullable<Parameters<Client['listEnvironments']>[0]>['query']>;

/** All that match. */
export const listEnvironments = (
  client: Client,
  query: ListQuery = {},
  signal?: AbortSignal,
): Promise<readonly EnvironmentView[]> =>
  readPages(async (after) => {
    const { environments, next } = await client.listEnvironments({ query: { limit: 1000, ...query, after }, signal });
    // Without `fields` they are whole.
    return { items: environments as EnvironmentView[], next };
  });

/** Fails unless there is exactly one. */
export const findOnlyEnvironment = async (client: Client): Promise<EnvironmentView> => {
  const environments = await listEnvironments(client);
  const [first, ...others] = environments;
  if (first === undefined) throw new CommandFailure('api.not_found', noEnvironments, { exitCode: exitCodes.notFound });
  if (others.length > 0) throw ambiguous(environments, 'There are several environments; choose one with --environment <name>:');
  return first;
};

/** A failure where ephd has not read enough to say whether it exists. */
const readIfExists = async (client: Client, text: string): Promise<EnvironmentDetailView | CommandFailure | undefined> => {
  try {
    return await client.readEnvironment({ path: { id: text } });
  } catch (error) {
    if (error instanceof CommandFailure && error.code === 'api.starting') return error;
    if (error instanceof CommandFailure && error.code === 'api.not_found') return undefined;
    throw error;
  }
};

export const chooseEnvironment = (environments: readonly EnvironmentView[], text: string): EnvironmentView => {
  const exact = environments.filter((environment) => identifiersOf(environment).includes(text));
  const matching = exact.length > 0 ? exact : environments.filter((environment) => beginsWith(environment, text));
  const [first, ...others] = matching;
  if (first === undefined || text === '') throw notFound(environments, text);
  if (others.length > 0)
    throw ambiguous(matching, `${JSON.stringify(text)} matches ${matching.length} environments; give more of the name:`);
  return first;
};

const identifiersOf = ({ id, name, alias, source }: EnvironmentView): readonly string[] => [
  name,
  id,
  source.name,
  sourceKey(source),
  ...(alias === null ? [] : [alias]),
];

const beginsWith = (environment: EnvironmentView, text: string): boolean =>
  identifiersOf(environment).some((identifier) => identifier.startsWith(text));

const notFound = (environments: readonly EnvironmentView[], text: string): CommandFailure => {
  const near = closest(text, environments.flatMap(identifiersOf));
  const advice =
    environments.length === 0
      ? 'There are no environments.'
      : `${near === undefined ? '' : `Did you mean ${near}? `}\`eph list\` shows all.`;
  return new CommandFailure('api.not_found', `There is no environment ${JSON.stringify(text)}. ${advice}`, {
    exitCode: exitCodes.notFound,
  });
};

const maxShown = 10;

export const ambiguous = (matching: readonly EnvironmentView[], explanation: string): CommandFailure => {
  const shown = matching.slice(0, maxShown).map(({ name, source }) => `  ${name} (${source.kind} ${source.name})`);
  if (matching.length > maxShown) shown.push(`  and ${matching.length - maxShown} more`);
  return new CommandFailure('cli.ambiguous', `${explanation}\n${shown.join('\n')}`, { exitCode: exitCodes.notFound });
};
