import type { Context } from '../context.ts';
import { formatAge, shortCommit } from '../figures.ts';
import { type ListQuery, listEnvironments } from '../find-environment.ts';
import { safeLine } from '../safe-text.ts';
import { noEnvironments, phaseCell } from '../status-view.ts';
import { renderTable, right, shrinking } from '../table.ts';

const columns = ['NAME', 'PHASE', shrinking('SOURCE'), 'COMMIT', right('AGE'), 'ADDRESS'];

export interface ListOptions extends Pick<ListQuery, 'project' | 'phase' | 'provider' | 'author' | 'label' | 'text'> {
  readonly quiet?: boolean;
}

export const list = async ({ client, out, print, now }: Context, { quiet = false, ...query }: ListOptions): Promise<void> => {
  const environments = await listEnvironments(client, query);
  if (quiet)
    return print(
      environments.map(({ name }) => name),
      () => environments.map(({ name }) => safeLine(name)),
    );
  const isFiltered = Object.keys(query).length > 0;
  const rows = environments.map(({ name, phase, source, commit, createdAt, url }) => [
    name,
    phaseCell(phase),
    `${source.kind} ${source.name}`,
    shortCommit(commit),
    formatAge(createdAt, now()),
    url,
  ]);
  await print({ environments }, () =>
    rows.length === 0 ? [isFiltered ? 'No environment matches.' : noEnvironments] : renderTable(out, columns, rows),
  );
};
