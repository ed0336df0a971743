/** The paths of this repository that a Markdown document names: in code spans, in links, and in drawings of the tree. */
export const parsePaths = (markdown: string): readonly string[] => {
  const blocks = [...markdown.matchAll(fence)].map(([, lines = '']) => lines);
  const prose = markdown.replaceAll(fence, '');
  return [...new Set([...linkTargets(prose), ...codeSpans(prose).filter(looksLikePath), ...blocks.flatMap(parseTree)])];
};

/** The npm scripts that it names. */
export const parseScripts = (markdown: string): readonly string[] => [
  ...new Set([...markdown.matchAll(/\bnpm run ([a-z][a-z-]*)/g)].map(([, name = '']) => name)),
];

/** Whether a named path is one of these files, one of their folders, or the end of one; `*` and `<name>` stand for anything. */
export const isPresent = (path: string, files: readonly string[]): boolean => {
  const wanted = path.replace(/\/$/, '').replaceAll(/<[^>]+>/g, '*');
  const pattern = wanted
    .split('*')
    .map((part) => RegExp.escape(part))
    .join('[^/]*');
  const start = topFolders.test(path) ? '^' : '^(.+/)?';
  const expression = new RegExp(`${start}${pattern}(/|$)`);
  return files.some((file) => expression.test(file));
};

const fence = /^```[^\n]*\n([\s\S]*?)^```$/gm;
const topFolders = /^(packages|apps|test|docs|deploy|proto|tools|\.ci)(\/|$)/;
const sourceFile = /^[\w.@*<>/-]+\.(ts|cjs|md|json|jsonc|proto)$/;

const looksLikePath = (span: string): boolean => !/\s/.test(span) && (topFolders.test(span) || sourceFile.test(span));

const codeSpans = (prose: string): readonly string[] => [...prose.matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span);

const linkTargets = (prose: string): readonly string[] =>
  [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target.replace(/#.*$/, ''))
    .filter((target) => target !== '' && !/^[a-z]+:/.test(target));

/**
 * A drawing indents what a folder holds, and explains after two spaces or more:
 *
 *     packages/
 *       contract/   nouns
 *       engine/     the pipeline
 *         source/   forge.ts*  read-spec.ts   what Git says
 */
const parseTree = (block: string): readonly string[] => {
  if (!/^(packages|apps)\//m.test(block)) return [];
  const found: string[] = [];
  const parents: { readonly indent: number; readonly path: string }[] = [];
  for (const line of block.split('\n')) {
    const indent = line.search(/\S/);
    if (indent < 0) continue;
    while ((parents.at(-1)?.indent ?? -1) >= indent) parents.pop();
    const parent = parents.at(-1)?.path ?? '';
    const { folders, files } = parseLine(line);
    const inner = folders.length === 1 ? `${parent}${folders[0]}` : parent;
    found.push(...folders.map((folder) => parent + folder), ...files.map((file) => inner + file));
    if (folders.length === 1) parents.push({ indent, path: inner });
  }
  return found;
};

/** A folder comes first on its line; files may come anywhere, with the star that marks a seam. */
const parseLine = (line: string): { readonly folders: readonly string[]; readonly files: readonly string[] } => {
  const words = line.trim().split(/\s+/);
  const explained = words.findIndex((word) => !word.endsWith('/'));
  return {
    folders: explained < 0 ? words : words.slice(0, explained),
    files: words.map((word) => word.replace(/\*$/, '')).filter((word) => sourceFile.test(word)),
  };
};
