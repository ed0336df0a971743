import { describeSource } from '@eph/contract';
import type { Context } from '../context.ts';
import { formatAge, shortCommit } from '../figures.ts';
import { listHeld, listProjects, listSources } from '../list-projects.ts';
import { renderTable, right, shrinking } from '../table.ts';

const projectColumns = ['PROJECT', 'FORGE', right('ENVIRONMENTS'), shrinking('LOCATION'), shrinking('NOTE')];

export const projects = async ({ client, out, print }: Context): Promise<void> => {
  const all = await listProjects(client);
  const rows = all.map(({ id, forge, environments, location, read, faults }) => [
    id,
    forge ?? 'git',
    String(environments),
    location,
    faults[0]?.message ?? (read ? '' : 'has not been read completely yet'),
  ]);
  await print({ projects: all }, () =>
    rows.length === 0 ? ['There are no projects that you may see.'] : renderTable(out, projectColumns, rows),
  );
};

const sourceColumns = [shrinking('SOURCE'), 'COMMIT', 'ENVIRONMENT', shrinking('WHY')];

export const sources = async ({ client, out, print }: Context, project: string): Promise<void> => {
  const all = await listSources(client, project);
  const states = { wanted: 'yes', unwanted: 'no', unknown: 'unknown' } as const;
  const rows = all.map(({ kind, name, commit, state, because }) => [
    describeSource({ kind, name }),
    shortCommit(commit),
    states[state],
    because,
  ]);
  await print({ sources: all }, () =>
    rows.length === 0 ? [`${project} has no branches, tags or pull requests.`] : renderTable(out, sourceColumns, rows),
  );
};

const heldColumns = ['NAME', 'PROJECT', right('AGE'), shrinking('WHY')];

export const held = async ({ client, out, print, now }: Context): Promise<void> => {
  const environments = await listHeld(client);
  const rows = environments.map(({ name, project, createdAt, because }) => [name, project, formatAge(createdAt, now()), because]);
  await print({ environments }, () =>
    rows.length === 0
      ? ['Nothing is held.']
      : [...renderTable(out, heldColumns, rows), '', '`eph release <environment>` lets one go.'],
  );
};

const providerColumns = ['PROVIDER', 'TYPE', 'SANDBOX', shrinking('NOTE')];

export const providers = async ({ client, out, print }: Context): Promise<void> => {
  const answer = await client.listCapabilities();
  const rows = answer.providers.map(({ name, type, isolation }) => [
    name,
    type,
    isolation.state === 'sandboxed' ? 'yes' : 'no',
    isolation.state === 'sandboxed'
      ? [isolation.lacks.network, isolation.lacks.limits].filter((one) => one !== undefined).join('; ')
      : isolation.because,
  ]);
  await print(answer, () => renderTable(out, providerColumns, rows));
};
