import type { Context } from '../context.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { formatAge, shortCommit } from '../figures.ts';
import { noEnvironments, phaseCell } from '../status-view.ts';
import { type Column, renderTable } from '../table.ts';

const columns: readonly Column[] = [
  { title: 'NAME' },
  { title: 'PHASE' },
  { title: 'SOURCE', shrinks: true },
  { title: 'COMMIT' },
  { title: 'AGE', align: 'right' },
  { title: 'ADDRESS' },
];

export const list = async ({ client, out, json, now }: Context): Promise<ExitCode> => {
  const environments = await client.listEnvironments();
  if (json) await out.json({ environments });
  else if (environments.length === 0) await out.lines([noEnvironments]);
  else {
    const rows = environments.map(({ name, phase, source, commit, createdAt, url }) => [
      name,
      phaseCell(phase),
      `${source.kind} ${source.name}`,
      shortCommit(commit),
      formatAge(createdAt, now()),
      url,
    ]);
    await out.lines(renderTable(out, columns, rows));
  }
  return exitCodes.ok;
};
