import { readdir, readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { EphError } from '@eph/contract';

export interface Layout {
  readonly gitFolder: string;
  /** Holds refs and objects; differs from `gitFolder` in a linked worktree. */
  readonly commonFolder: string;
  /** Differs if another repository was put in the same place. */
  readonly identity: string;
}

/** Checks this path only. Git would also search parent folders, and a project must never become the repository around it. */
export const readLayout = async (path: string): Promise<Layout> => {
  try {
    const gitFolder = await readGitFolder(path);
    const commonFolder = await readCommonFolder(gitFolder);
    const [objects] = await Promise.all([
      stat(join(commonFolder, 'objects'), { bigint: true }),
      stat(join(commonFolder, 'refs')),
      stat(join(gitFolder, 'HEAD')),
    ]);
    return { gitFolder, commonFolder, identity: `${objects.dev}:${objects.ino}:${objects.birthtimeNs}` };
  } catch (error) {
    throw layoutError(path, error);
  }
};

const readGitFolder = async (path: string): Promise<string> => {
  const inside = join(path, '.git');
  const found = await stat(inside).catch(undefinedIfMissing);
  if (found === undefined) return path;
  if (found.isDirectory()) return inside;
  // In a linked worktree or a submodule, `.git` is a file with the path.
  const target = /^gitdir: (.+)\n?$/.exec(await readFile(inside, 'utf8'))?.[1];
  return target === undefined ? inside : resolve(path, target);
};

const readCommonFolder = async (gitFolder: string): Promise<string> => {
  const text = await readFile(join(gitFolder, 'commondir'), 'utf8').catch(undefinedIfMissing);
  return text === undefined ? gitFolder : resolve(gitFolder, text.trim());
};

/** Throws if a folder of refs cannot be read. Git skips such a folder silently, and its refs would look deleted. */
export const checkRefFolders = async ({ commonFolder }: Layout, folders: readonly string[], shown: string): Promise<void> => {
  for (const folder of folders) {
    try {
      await readdir(join(commonFolder, folder), { recursive: true });
    } catch (error) {
      // Absent without loose refs; a file in a repository with reftables.
      if (isMissing(error)) continue;
      throw new EphError('forge.incomplete', `The refs of ${shown} cannot all be read: ${errorMessage(error)}`, { cause: error });
    }
  }
};

export const undefinedIfMissing = (error: unknown): undefined => {
  if (isMissing(error)) return undefined;
  throw error;
};

const isMissing = (error: unknown): boolean =>
  ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException | undefined)?.code ?? '');

const errorMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const layoutError = (path: string, error: unknown): EphError => {
  const why = isMissing(error) ? 'check the path' : errorMessage(error);
  return new EphError('forge.unreachable', `There is no readable Git repository at ${path}: ${why}.`, { cause: error });
};
