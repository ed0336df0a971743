import { join } from 'node:path';
import { type CommitSha, environmentId, projectId } from '@eph/contract';
import { createView } from '@eph/engine/report/view.fake';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createGitForge } from './git-forge.ts';
import { createGitNotesReporter } from './git-notes.ts';
import { withBlock } from './note-text.ts';
import { emptyIndex, readNotesIndex } from './notes-index.ts';
import type { ObjectReader } from './object-reader.ts';
import { Origin } from './origin.fake.ts';

const { signal } = new AbortController();
const environment = environmentId('0000000000000001');
const folders = Array.from({ length: 256 }, (_, index) => index.toString(16).padStart(2, '0'));

const start = async () => {
  const origin = await Origin.create();
  onTestFinished(() => origin[Symbol.asyncDispose]());
  const forge = createGitForge({ project: projectId('shop'), location: origin.path, folder: join(origin.folder, 'data') });
  onTestFinished(() => forge[Symbol.asyncDispose]());
  let reads = 0;
  const objects: ObjectReader = {
    ...forge.notes.objects,
    read: (...args) => {
      reads += 1;
      return forge.notes.objects.read(...args);
    },
  };
  const treeOf = (commit: string) => origin.git('rev-parse', `${commit}^{tree}`);
  /** Levels of 256 folders each, all of them the same tree. */
  const nest = async (levels: number, leaf: CommitSha): Promise<CommitSha> => {
    let commit = leaf;
    for (let level = 0; level < levels; level += 1) {
      const tree = await treeOf(commit);
      commit = await origin.commitRawTree(folders.map((name) => ['40000', name, tree] as const));
    }
    return commit;
  };
  return { origin, forge, objects, nest, reads: () => reads };
};

describe('the notes of a hostile repository', () => {
  it('with 256^5 entries in a few objects are read in a few steps, and a report is written there all the same', async () => {
    const { origin, forge, objects, nest, reads } = await start();
    const blob = await origin.blob('x');
    const tip = await nest(
      5,
      await origin.commitRawTree(folders.map((name) => ['100644', `${name}${'0'.repeat(28)}`, blob] as const)),
    );
    expect((await readNotesIndex(objects, tip, emptyIndex, signal)).notes.size).toBe(0);
    expect(reads()).toBeLessThan(10);
    await origin.git('update-ref', 'refs/notes/eph', tip);
    const commit = await origin.push({ kind: 'branch', name: 'main' }, { a: 'a' });
    const source = { kind: 'branch', name: 'main' } as const;
    const report = {
      project: forge.project,
      environment,
      source,
      commit,
      text: 'Ready',
      view: createView({ commit }),
      last: false,
    };
    await createGitNotesReporter({ forge }).ensure(report, signal);
    expect(await origin.git('show', `refs/notes/eph:${commit.slice(0, 2)}/${commit.slice(2)}`)).toContain('Ready');
  });

  it('with too many entries or bytes are refused with a sentence', async () => {
    const { origin, objects } = await start();
    const blobs = [await origin.blob('x'.repeat(600)), await origin.blob('y'.repeat(600))];
    const tip = await origin.commitRawTree(blobs.map((blob, index) => ['100644', `${index}`.repeat(40), blob] as const));
    const limits = { depth: 4, entries: 2, totalBytes: 1200 };
    expect((await readNotesIndex(objects, tip, emptyIndex, signal, limits)).notes.size).toBe(2);
    await expect(readNotesIndex(objects, tip, emptyIndex, signal, { ...limits, entries: 1 })).rejects.toMatchObject({
      code: 'report.failed',
      message: 'refs/notes/eph has more than 1 entries; delete it, Eph writes it again.',
    });
    await expect(readNotesIndex(objects, tip, emptyIndex, signal, { ...limits, totalBytes: 1000 })).rejects.toMatchObject({
      message: expect.stringContaining('1000 bytes'),
    });
  });

  it('that are all the same are read once', async () => {
    const { origin, objects, reads } = await start();
    const note = withBlock(Buffer.alloc(0), environment, 'branch:x', 'Ready').toString();
    const blob = await origin.blob(note);
    const tip = await origin.commitRawTree(folders.map((name) => ['100644', `${name}${'0'.repeat(38)}`, blob] as const));
    const index = await readNotesIndex(objects, tip, emptyIndex, signal);
    expect([index.notes.size, index.byEnvironment.get(environment)?.length]).toEqual([256, 256]);
    expect(reads()).toBe(3);
  });
});
