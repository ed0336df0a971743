import { isUtf8 } from 'node:buffer';
import { type CommitSha, commitSha, EphError, type Failure, type SourceKind, type SourceRef } from '@eph/contract';
import { printable } from './git-errors.ts';

export interface ListedRef {
  readonly ref: SourceRef;
  readonly object: string;
}

export interface CommitRef {
  readonly ref: SourceRef;
  readonly commit: CommitSha;
}

export interface RefReading {
  readonly refs: readonly CommitRef[];
  /** What could not be read; the list is complete if empty. */
  readonly faults: readonly Failure[];
}

/** What the refs in `refs/notes/` point to, by the rest of their names. */
export interface NotesRefs {
  readonly tips: ReadonlyMap<string, string>;
  /** What could not be read. If empty, there are no other refs than those in `tips`. */
  readonly faults: readonly Failure[];
}

const folders: Readonly<Record<SourceKind, string>> = { branch: 'refs/heads/', tag: 'refs/tags/', pr: 'refs/pull/' };

export const fullName = (ref: SourceRef): string => folders[ref.kind] + ref.name;

/** Also excludes what cannot be passed to a process. */
export const isPossibleName = (name: string): boolean =>
  name !== '' && !/[\0-\x20\x7f~^:?*[\\]/.test(name) && name.isWellFormed();

/** Names that are not UTF-8 are ignored: they cannot be passed back as strings. */
const parseRefName = (bytes: Buffer): SourceRef | undefined => {
  if (!isUtf8(bytes)) return undefined;
  const name = bytes.toString('utf8');
  if (name.startsWith(folders.branch)) return { kind: 'branch', name: name.slice(folders.branch.length) };
  if (name.startsWith(folders.tag)) return { kind: 'tag', name: name.slice(folders.tag.length) };
  return undefined;
};

/** Lines of `<object id><separator><ref name>`. Throws on anything else: a partial list must not count as complete. */
const parseLines = (output: Buffer, separator: string): readonly (readonly [object: string, name: Buffer])[] => {
  if (output.length > 0 && output.at(-1) !== 0x0a) throw unparsable(output);
  const lines: (readonly [string, Buffer])[] = [];
  for (let at = 0; at < output.length; ) {
    const end = output.indexOf(0x0a, at);
    const line = output.subarray(at, end);
    const idEnd = line.indexOf(separator);
    const object = line.toString('latin1', 0, Math.max(idEnd, 0));
    if (!/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(object)) throw unparsable(line);
    lines.push([object, line.subarray(idEnd + 1)]);
    at = end + 1;
  }
  return lines;
};

export const forEachRefFormat = '--format=%(objectname) %(refname)';

export const parseForEachRef = (output: Buffer): readonly ListedRef[] =>
  parseLines(output, ' ').flatMap(([object, name]) => {
    const ref = parseRefName(name);
    return ref === undefined ? [] : [{ ref, object }];
  });

/**
 * Parses the output of `git ls-remote --heads --tags`. An annotated tag has a second line with `^{}` after its name and
 * the peeled object. An id of zeros is a ref that the server cannot read.
 */
export const parseLsRemote = (output: Buffer): { readonly refs: readonly CommitRef[]; readonly broken: readonly SourceRef[] } => {
  const lines = parseLines(output, '\t');
  const peeled = new Map<string, string>();
  for (const [object, name] of lines) {
    const text = name.toString('latin1');
    if (text.endsWith('^{}')) peeled.set(text.slice(0, -3), object);
  }
  const refs: CommitRef[] = [];
  const broken: SourceRef[] = [];
  for (const [object, name] of lines) {
    if (name.subarray(-3).equals(peelMark)) continue;
    const ref = parseRefName(name);
    if (ref === undefined) continue;
    if (/^0+$/.test(object)) broken.push(ref);
    else refs.push({ ref, commit: commitSha(peeled.get(name.toString('latin1')) ?? object) });
  }
  return { refs, broken };
};

export const notesFolder = 'refs/notes/';

/** Parses either output. A ref may point to something that is not a commit; whoever opens it finds out. */
export const parseNotesRefs = (
  output: Buffer,
  separator: ' ' | '\t',
): { readonly tips: ReadonlyMap<string, string>; readonly broken: readonly string[] } => {
  const tips = new Map<string, string>();
  const broken: string[] = [];
  for (const [object, bytes] of parseLines(output, separator)) {
    const name = isUtf8(bytes) ? bytes.toString('utf8') : '';
    if (!name.startsWith(notesFolder) || name.endsWith('^{}')) continue;
    if (/^0+$/.test(object)) broken.push(name);
    else tips.set(name.slice(notesFolder.length), object);
  }
  return { tips, broken };
};

const peelMark = Buffer.from('^{}');

const unparsable = (line: Buffer): EphError =>
  new EphError('forge.incomplete', `Git printed an invalid list of refs: "${printable(line.toString('utf8', 0, 200))}".`);
