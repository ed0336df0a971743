import { lstat, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { asList, asMap, type JsonMap, type JsonValue, namespacePlaceholder, parseYaml } from '@eph/contract';
import { LineCounter } from 'yaml';
import { refuse } from './manifest.ts';
import { findInTree, nothingIfAbsent, type Tree } from './manifest-files.ts';

const fileLimitBytes = 1024 ** 2;

/** Refuses a chart whose dependencies are not beside it, with the command that brings them. */
export const checkChart = async (tree: Tree, path: string): Promise<void> => {
  const folder = await findInTree(tree, path);
  const file = join(path, 'Chart.yaml');
  const chart = await readYaml(await findInTree(tree, file), file);
  const there = (await readdir(join(folder, 'charts')).catch(nothingIfAbsent)) ?? [];
  for (const dependency of asList(asMap(chart)['dependencies'])) {
    const { name, version } = asMap(dependency);
    if (typeof name !== 'string') continue;
    const isThere = there.some((one) => one === name || (one.startsWith(`${name}-`) && one.endsWith('.tgz')));
    if (isThere) continue;
    throw refuse(
      file,
      `needs chart ${name}${typeof version === 'string' ? ` ${version}` : ''}, which is not in ${join(path, 'charts')}; Eph fetches nothing: run \`helm dependency build ${path}\` and commit what it brings`,
    );
  }
};

const readYaml = async (path: string, shown: string): Promise<JsonValue> => {
  const { size } = await lstat(path);
  if (size > fileLimitBytes) throw refuse(shown, `has ${size} bytes; at most ${fileLimitBytes} are read`);
  const { document, flaws } = parseYaml(await readFile(path, 'utf8'), new LineCounter());
  const [flaw] = flaws;
  if (document === undefined || flaw !== undefined) throw refuse(shown, flaw?.message ?? 'is no YAML');
  return document.toJS({ maxAliasCount: 100 }) as JsonValue;
};

export interface Chart {
  readonly path: string;
  readonly values: JsonMap | undefined;
  readonly valueFiles: readonly string[];
}

/** The arguments of `helm`, with what they name written to the folder of the work. */
export const prepareChart = async (
  tree: Tree,
  work: string,
  { path, values, valueFiles }: Chart,
  index: number,
  release: string,
): Promise<readonly string[]> => {
  for (const file of valueFiles) if (!(await lstat(await findInTree(tree, file))).isFile()) throw refuse(file, 'is not a file');
  const own = `values-${index}.json`;
  if (values !== undefined) await writeFile(join(work, own), JSON.stringify(values));
  const files = [...valueFiles.map((file) => join('tree', file)), ...(values === undefined ? [] : [own])];
  return [
    'template',
    release,
    `./${join('tree', path)}`,
    '--namespace',
    namespacePlaceholder,
    ...files.flatMap((file) => ['--values', file]),
  ];
};

/** The template that a document of Helm's output came from; its first part is the name of the chart. */
export const templateOf =
  (path: string) =>
  (document: string): string | undefined => {
    const source = /^# Source: [^/\n]+\/(.+)$/m.exec(document)?.[1];
    return source === undefined ? undefined : join(path, source.trim());
  };
