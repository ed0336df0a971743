import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { projectId } from '@eph/contract';
import { describeReporter, type ReporterHarness } from '@eph/engine/report/reporter.contract';
import { describe } from 'vitest';
import { createGitForge } from './git-forge.ts';
import { createGitNotesReporter } from './git-notes.ts';
import { Origin, type OriginOptions } from './origin.fake.ts';

/** What stands between the marks; lines that look like marks were indented by one. */
const blockOf = (note: string, environment: string): string | undefined => {
  const lines = note.split('\n');
  const begin = lines.findIndex((line) => line.startsWith(`[eph ${environment} `));
  const end = lines.indexOf(`[end ${environment}]`, begin);
  if (begin === -1) return undefined;
  return lines
    .slice(begin + 1, end)
    .map((line) => line.replace(/^ (?= *\[(?:eph|end) )/, ''))
    .join('\n');
};

const createHarness = async (options: OriginOptions, locate: (origin: Origin) => string): Promise<ReporterHarness> => {
  const origin = await Origin.create(options);
  const project = projectId('shop');
  let nowMs = 1_800_000_000_000;
  const forge = createGitForge({ project, location: locate(origin), folder: join(origin.folder, 'data'), now: () => nowMs });
  let commits = 0;
  return {
    reporter: createGitNotesReporter({ forge }),
    project,
    async commit() {
      commits += 1;
      return await origin.push({ kind: 'branch', name: `preview/${commits}` }, { 'a.txt': String(commits) });
    },
    async seen({ commit, environment }) {
      const note = await origin.git('notes', '--ref=eph', 'show', commit).catch(() => undefined);
      return note === undefined ? undefined : blockOf(note, environment);
    },
    writes: async () => Number(await origin.git('rev-list', '--count', 'refs/notes/eph')),
    disconnect: async () => {
      // Longer than the notes of a remote are taken for unchanged.
      nowMs += 3_600_000;
      await origin.hide();
    },
    reconnect: () => origin.unhide(),
    async [Symbol.asyncDispose]() {
      await forge[Symbol.asyncDispose]();
      await origin[Symbol.asyncDispose]();
    },
  };
};

describe('notes in a bare repository of this machine', () => {
  describeReporter(() => createHarness({}, (origin) => origin.path));
});

describe('notes in a working copy of this machine', () => {
  describeReporter(() => createHarness({ bare: false }, (origin) => origin.path));
});

describe('notes in a repository behind an address', () => {
  describeReporter(() => createHarness({}, (origin) => pathToFileURL(origin.path).href));
});
