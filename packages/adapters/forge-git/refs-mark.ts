import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Layout, undefinedIfMissing } from './repository-layout.ts';

/** More are read by Git, which is then no slower. */
const maxLooseRefs = 32;
/** File systems may write the same time for what is changed so soon after each other. */
const settledMs = 2_000;

/**
 * What a local repository has written down about the refs in these folders: while it stays the same, Git would list the same refs. So a pass
 * over a repository in which nothing happens starts no process. Undefined where it would not say that: something was changed just now,
 * a ref may lead elsewhere, refs are kept in another way, or there are many.
 */
export const readRefsMark = async (layout: Layout, folders: readonly string[], now: number): Promise<string | undefined> => {
  const { commonFolder, identity } = layout;
  const parts = [identity];
  let [looseRefs, newest] = [0, Number.NEGATIVE_INFINITY];
  const note = async (path: string): Promise<boolean> => {
    const found = await stat(path, { bigint: true }).catch(undefinedIfMissing);
    if (found === undefined) return false;
    newest = Math.max(newest, Number(found.mtimeMs), Number(found.ctimeMs));
    parts.push(`${path} ${found.ino} ${found.size} ${found.mtimeNs} ${found.ctimeNs}`);
    return true;
  };
  const readFolder = async (folder: string): Promise<boolean> => {
    if (!(await note(folder))) return true;
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) {
        if (!(await readFolder(path))) return false;
        continue;
      }
      looseRefs += 1;
      if (!entry.isFile() || looseRefs > maxLooseRefs) return false;
      const content = await readFile(path, 'latin1');
      if (!/^[0-9a-f]{40,64}\n$/.test(content)) return false;
      parts.push(path, content);
    }
    return true;
  };
  if (await note(join(commonFolder, 'reftable'))) return undefined;
  await note(join(commonFolder, 'packed-refs'));
  for (const folder of folders) if (!(await readFolder(join(commonFolder, folder)))) return undefined;
  return newest > now - settledMs ? undefined : parts.join('\n');
};
