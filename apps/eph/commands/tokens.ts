import type { RevocationView, Scope } from '@eph/contract';
import { describeProjects } from '../account-view.ts';
import { CommandFailure } from '../command-failure.ts';
import type { Context } from '../context.ts';
import { exitCodes } from '../exit-codes.ts';
import { formatTime } from '../figures.ts';
import { readPages } from '../read-pages.ts';
import { safeLine } from '../safe-text.ts';
import { renderTable, shrinking } from '../table.ts';

export interface TokenOptions {
  readonly person: string;
  readonly scope: Scope;
  readonly projects?: readonly string[];
  readonly for: string;
  readonly quiet?: boolean;
}

/** Only the token goes to standard output, so that a script can pass it on. */
export const createToken = async ({ client, print, err }: Context, options: TokenOptions): Promise<void> => {
  const { person, scope, projects, for: lifetime, quiet = false } = options;
  const body = { person, scope, ...(projects && { projects: [...projects] }), for: lifetime };
  const made = await client.createToken({ body });
  await print(made, () => [made.token]);
  if (quiet) return;
  await err.lines(
    [
      `Token ${made.id} is for ${made.person}, with scope ${made.scope}, until ${formatTime(made.expiresAt)}.`,
      `Projects: ${describeProjects(made.projects)}.`,
      'ephd does not store it, and it is not shown again.',
    ].map(safeLine),
  );
};

const columns = ['ID', shrinking('PERSON'), 'SCOPE', shrinking('PROJECTS'), 'CREATED', 'EXPIRES', 'STATE'];

export const listTokens = async ({ client, out, print }: Context, { person }: { readonly person?: string }): Promise<void> => {
  const tokens = await readPages(async (after) => {
    const { tokens: items, next } = await client.listTokens({ query: { person, limit: 1000, after } });
    return { items, next };
  });
  const rows = tokens.map(({ id, person, scope, projects, createdAt, expiresAt, state }) => [
    id,
    person,
    scope,
    projects?.join(', ') ?? 'all',
    formatTime(createdAt),
    formatTime(expiresAt),
    { text: state, style: state === 'valid' ? 'good' : 'faint' } as const,
  ]);
  await print({ tokens }, () => (rows.length === 0 ? ['History remembers no tokens.'] : renderTable(out, columns, rows)));
};

export const revokeTokens = async (
  { client, print }: Context,
  id: string | undefined,
  { person }: { readonly person?: string },
): Promise<void> => {
  if ((id === undefined) === (person === undefined))
    throw new CommandFailure('cli.usage', 'Name the id of a token, or a person with --person.', { exitCode: exitCodes.usage });
  const answer = await (person === undefined
    ? client.revokeToken({ path: { token: id ?? '' } })
    : client.revokePerson({ query: { person } }));
  await print(answer, () => renderRevocation(answer));
};

export const renderRevocation = ({ missing }: RevocationView): readonly string[] =>
  missing === null
    ? ['Revoked.']
    : [safeLine(`Revoked here. Other ephd do not know it yet, and it is repeated until they do: ${missing}`)];
