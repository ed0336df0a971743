import type { Git } from './git-command.ts';
import { gitError } from './git-errors.ts';

/** Git writes the blob into an open file, without buffering it here. */
export const writeBlobTo = async (
  git: Git,
  gitFolder: string,
  id: string,
  file: number,
  shown: string,
  signal: AbortSignal,
): Promise<void> => {
  const args = [`--git-dir=${gitFolder}`, 'cat-file', 'blob', id];
  const output = await git.run(args, { signal, outputTo: file, timeLimitMs: 10 * 60_000 });
  if (output.exitCode !== 0) throw gitError(output, shown);
};
