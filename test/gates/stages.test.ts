import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { repository } from './sandbox.ts';

const read = (path: string): Promise<string> => readFile(join(repository, path), 'utf8');

/** The body of an exported function, so that neither imports nor helpers below it count as calls. */
const bodyOf = async (file: string, name: string): Promise<string> => {
  const text = await read(`packages/engine/loop/${file}`);
  const start = text.indexOf(`export const ${name} = `);
  const end = text.indexOf('\n};\n', start);
  if (start === -1 || end === -1) throw new Error(`${file} has no function ${name}`);
  return text.slice(start, end);
};

/** How the loop calls each stage. */
const calls: Readonly<Record<string, RegExp>> = {
  source: /\.sources\(/,
  desired: /\bdecideSources\(/,
  render: /\brenderFile\(/,
  artifacts: /\bfindImages\(/,
  values: /\bcomputeEnvironment\(/,
  plan: /\bplanUpdate\(/,
  apply: /\bawait apply\(/,
  status: /\bsummarize\(/,
  report: /\breport\(loop,/,
};

it('ARCHITECTURE.md names the stages in the order in which the loop calls them', async () => {
  const named = /^Data moves one way: (.*)\.$/m.exec(await read('ARCHITECTURE.md'))?.[1]?.split(' → ');
  const draft = await bodyOf('draft.ts', 'draftEnvironment');
  const reconcile = (await bodyOf('reconcile.ts', 'reconcile')).replace(/\bdraftEnvironment\([^)]*\)/, () => draft);
  const flow = [await bodyOf('project.ts', 'reconcileProject'), reconcile, await bodyOf('outcome.ts', 'conclude')].join('\n');
  const places = Object.entries(calls).map(([stage, call]) => ({ stage, at: flow.search(call) }));
  expect(places.filter(({ at }) => at === -1)).toEqual([]);
  expect(places.toSorted((a, b) => a.at - b.at).map(({ stage }) => stage)).toEqual(named);
});
