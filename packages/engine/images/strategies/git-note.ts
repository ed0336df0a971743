import { findStated } from '../stated-images.ts';
import { proposeStated, type Strategy } from './strategy.ts';

/** Where `git notes add` writes unless it is given another ref. */
const defaultNotes = 'commits';

/** A note on the commit, written by the build. */
export const findByNote: Strategy = async (request, { readNote }) => {
  const { image, source } = request;
  if (image.notes === undefined) return undefined;
  const refs = [...new Set([image.notes, defaultNotes])];
  for (const notes of refs) {
    const stated = findStated((await readNote(source, notes)) ?? '', image);
    if (stated !== undefined) return proposeStated(stated, `the note in refs/notes/${notes}`, request);
  }
  return { none: `no note on the commit in ${refs.map((notes) => `refs/notes/${notes}`).join(' or ')} names it` };
};
