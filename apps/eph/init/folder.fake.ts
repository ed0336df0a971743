import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { FolderListing } from './folder-listing.ts';

/** Contents by path. */
export type Files = Readonly<Record<string, string>>;

export interface TemporaryFolder extends AsyncDisposable {
  readonly path: string;
}

export const makeFolder = async (files: Files): Promise<TemporaryFolder> => {
  const outer = await mkdtemp(join(tmpdir(), 'eph-init-'));
  const path = join(outer, 'shop');
  await mkdir(path);
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(path, name)), { recursive: true });
    await writeFile(join(path, name), content);
  }
  return { path, [Symbol.asyncDispose]: () => rm(outer, { recursive: true, force: true }) };
};

export const listingOf = (files: Files): FolderListing => {
  const depth = (path: string): number => path.split('/').length;
  return {
    files: Object.keys(files).toSorted((a, b) => depth(a) - depth(b) || (a < b ? -1 : 1)),
    cut: false,
    read: async (file) => files[file] ?? '',
  };
};
