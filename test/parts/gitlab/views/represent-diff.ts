import type { ChangedFile } from '../../emulation/bare-repository.ts';
import type { Json } from './represent.ts';

export const representDiff = (file: ChangedFile): Omit<Json<'mergeRequestDiffs'>[number], 'generated_file'> => ({
  old_path: file.oldPath,
  new_path: file.newPath,
  a_mode: file.oldMode,
  b_mode: file.newMode,
  // As for a diff that is too long to be shown at once.
  diff: '',
  collapsed: true,
  too_large: false,
  new_file: file.status === 'A',
  renamed_file: file.status === 'R',
  deleted_file: file.status === 'D',
});
