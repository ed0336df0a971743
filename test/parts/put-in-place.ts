import { rename } from 'node:fs/promises';

/** Moves what was built into the parts cache. Another run may have done so first. */
export const putInPlace = async (built: string, target: string): Promise<void> => {
  try {
    await rename(built, target);
  } catch (error) {
    const lost = error instanceof Error && 'code' in error && (error.code === 'ENOTEMPTY' || error.code === 'EEXIST');
    if (!lost) throw error;
  }
};
