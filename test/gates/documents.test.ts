import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isPresent, parsePaths, parseScripts } from './document-paths.ts';
import { readFiles, readScripts, readSources, repository } from './sandbox.ts';

/** All files; of plants only their folders, since they imitate the tree that documents describe. */
const readTree = async (): Promise<readonly string[]> =>
  (await readFiles('')).map((path) => path.replace(/^(test\/gates\/planted\/).*/, '$1'));

describe.each(['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md'])('%s', (document) => {
  it('names only paths that exist', async () => {
    const files = await readTree();
    const paths = parsePaths(await readFile(join(repository, document), 'utf8'));
    expect(paths).not.toEqual([]);
    expect(paths.filter((path) => !isPresent(path, files))).toEqual([]);
  });

  it('names only commands that exist', async () => {
    const scripts = Object.keys(await readScripts());
    expect(scripts).toEqual(expect.arrayContaining([...parseScripts(await readFile(join(repository, document), 'utf8'))]));
  });
});

describe('a decision', () => {
  it('has its context, the decision and the consequences', async () => {
    const decisions = (await readSources('.md')).filter((path) => path.startsWith('docs/adr/'));
    expect(decisions).not.toEqual([]);
    for (const path of decisions) {
      const headings = (await readFile(join(repository, path), 'utf8')).match(/^#+ .*/gm) ?? [];
      expect(headings.slice(1), path).toEqual(['## Context', '## Decision', '## Consequences']);
    }
  });
});

describe('reading a document', () => {
  const files = ['ARCHITECTURE.md', 'packages/engine/loop/queue.ts', 'packages/engine/source/forge.ts', 'apps/eph/main.ts'];
  const missing = (markdown: string): readonly string[] => parsePaths(markdown).filter((path) => !isPresent(path, files));

  it.each([
    ['a code span', 'See `packages/engine/loop/stack.ts`.', ['packages/engine/loop/stack.ts']],
    ['the end of a path', 'See `loop/stack.ts`.', ['loop/stack.ts']],
    ['a folder', 'See `deploy/`.', ['deploy/']],
    ['a pattern', 'See `apps/*/wiring.ts`.', ['apps/*/wiring.ts']],
    ['a link', 'See [the rest](docs/rest.md#top).', ['docs/rest.md']],
    [
      'a drawing',
      '```\npackages/\n  engine/\n    loop/    queue.ts  stack.ts*  order\n  sdk/   more\n```\n',
      ['packages/engine/loop/stack.ts', 'packages/sdk/'],
    ],
  ])('finds the missing path in %s', (_, markdown, expected) => {
    expect(missing(markdown)).toEqual(expected);
  });

  it('accepts what is there', () => {
    const drawing =
      '```\npackages/\n  engine/       the pipeline\n    loop/       queue.ts   order\n    source/     forge.ts*\napps/   eph/\n```\n';
    expect(
      missing(`${drawing}\`queue.ts\`, \`apps/*/main.ts\`, \`packages/engine/<stage>/forge.ts\`, [map](ARCHITECTURE.md)`),
    ).toEqual([]);
  });

  it('takes no other code for a path', () => {
    expect(
      parsePaths(
        '`refs/notes/eph` `/api/v1/plan` `@eph/engine/loop/queue` `eph.yaml` `npm test` [web](https://example.org/a.md)',
      ),
    ).toEqual([]);
  });
});
