import type { Context } from '../context.ts';
import { formatAge, shortCommit } from '../figures.ts';
import { listEnvironments } from '../find-environment.ts';
import { noEnvironments, phaseCell } from '../status-view.ts';
import { renderTable, right, shrinking } from '../table.ts';

const columns = ['NAME', 'PHASE', shrinking('SOURCE'), 'COMMIT', right('AGE'), 'ADDRESS'];

export const list = async ({ client, out, print, now }: Context): Promise<void> => {
  const environments = await listEnvironments(client);
  const rows = environments.map(({ name, phase, source, commit, createdAt, url }) => [
    name,
    phaseCell(phase),
    `${source.kind} ${source.name}`,
    shortCommit(commit),
    formatAge(createdAt, now()),
    url,
  ]);
  await print({ environments }, () => (rows.length === 0 ? [noEnvironments] : renderTable(out, columns, rows)));
};
