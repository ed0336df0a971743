import { readdir, readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { EphError } from '@eph/contract';

/** Where the parts of a repository on this machine are. */
export interface Layout {
  /** What Git calls the git directory. */
  readonly gitFolder: string;
  /** Where refs and objects are; differs from the above in a linked worktree. */
  readonly commonFolder: string;
  /** Differs when another repository was put in the same place. */
  readonly identity: string;
}

/**
 * Looks at this path alone. Git would search the folders above it too, and a project must never become the repository that
 * happens to surround it.
 */
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
  // A linked worktree or a submodule: a file that says where the folder is.
  const target = /^gitdir: (.+)\n?$/.exec(await readFile(inside, 'utf8'))?.[1];
  return target === undefined ? inside : resolve(path, target);
};

const readCommonFolder = async (gitFolder: string): Promise<string> => {
  const text = await readFile(join(gitFolder, 'commondir'), 'utf8').catch(undefinedIfMissing);
  return text === undefined ? gitFolder : resolve(gitFolder, text.trim());
};

/**
 * Throws when a folder of refs cannot be read. Git passes over such a folder without a word, and its refs would look deleted.
 */
export const checkRefFolders = async ({ commonFolder }: Layout, shown: string): Promise<void> => {
  for (const kind of ['heads', 'tags']) {
    try {
      await readdir(join(commonFolder, 'refs', kind), { recursive: true });
    } catch (error) {
      // No such folder while there are no loose refs; a file in its place where refs are kept in tables.
      if (isCode(error, 'ENOENT') || isCode(error, 'ENOTDIR')) continue;
      throw new EphError('forge.incomplete', `The refs of ${shown} cannot all be read: ${errorMessage(error)}`, { cause: error });
    }
  }
};

const undefinedIfMissing = (error: unknown): undefined => {
  if (isCode(error, 'ENOENT') || isCode(error, 'ENOTDIR')) return undefined;
  throw error;
};

const isCode = (error: unknown, code: string): boolean => (error as NodeJS.ErrnoException | undefined)?.code === code;

const errorMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const layoutError = (path: string, error: unknown): EphError => {
  const missing = isCode(error, 'ENOENT') || isCode(error, 'ENOTDIR');
  const why = missing ? 'check the path' : errorMessage(error);
  return new EphError('forge.unreachable', `There is no readable Git repository at ${path}: ${why}.`, { cause: error });
};
