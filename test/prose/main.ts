import { globSync, readFileSync } from 'node:fs';

/** Prose in Markdown wraps here, so that a change of one sentence is a change of few lines. */
const limit = 120;

/** Not `git ls-files`: the tests of this gate compare the files that it reads with those that Git tracks. */
const files = globSync('**/*.md', { exclude: ['**/node_modules', '**/dist', 'test/gates/planted'] }).toSorted();

/** A line without a space after its indentation, bullet or number has no place to break: a long address or link. */
const cannotBreak = /^[\s>]*(?:(?:[-*+]|\d+[.)])\s+)?\S+\s*$/;
const isTableRow = /^[\s>]*\|/;
const isHeading = /^#{1,6} /;
const fenceStart = /^[\s>]*(`{3,}|~{3,})/;

const width = (line: string): number => Array.from(line).length;

const isTooWide = (line: string): boolean =>
  width(line) > limit && !isTableRow.test(line) && !isHeading.test(line) && !cannotBreak.test(line);

/** Code and front matter are not prose; a block that is never closed extends to the end of the file, as in Markdown itself. */
const findWideLines = (markdown: string): readonly { readonly number: number; readonly columns: number }[] => {
  let end: RegExp | undefined;
  return markdown.split('\n').flatMap((line, index) => {
    if (end !== undefined) {
      if (end.test(line)) end = undefined;
      return [];
    }
    const fence = fenceStart.exec(line)?.[1];
    if (fence !== undefined) end = new RegExp(`^[\\s>]*${fence}${fence.charAt(0)}*\\s*$`);
    else if (index === 0 && line === '---') end = /^---$/;
    return end === undefined && isTooWide(line) ? [{ number: index + 1, columns: width(line) }] : [];
  });
};

if (process.argv.includes('--list')) for (const file of files) console.log(file);
for (const file of files) {
  for (const { number, columns } of findWideLines(readFileSync(file, 'utf8'))) {
    console.error(`${file}:${number}: ${columns} columns; wrap prose at ${limit}`);
    process.exitCode = 1;
  }
}
