import { EphError } from '@eph/contract';

export interface GitObject {
  readonly id: string;
  readonly type: string;
  readonly size: number;
  readonly content: Buffer | undefined;
}

interface CatFileSink {
  /** Size limit of the next object's content; read when its header arrives. */
  limit(): number;
  /**
   * Called once per object, in order; `undefined` if there is none. For an object that is too large, called with its
   * header; the content is skipped.
   */
  answer(object: GitObject | undefined): void;
}

const headerLimitBytes = 8 * 1024;
const newline = 0x0a;

/** Parses the output of `git cat-file --batch` in chunks of any size. */
export const createCatFileParser = (sink: CatFileSink): ((chunk: Buffer) => void) => {
  let header: Buffer[] = [];
  let headerBytes = 0;
  let object: Omit<GitObject, 'content'> | undefined;
  let kept: Buffer[] | undefined;
  /** Of the content and the newline after it. */
  let missingBytes = 0;

  const readHeader = (chunk: Buffer, from: number): number => {
    const end = chunk.indexOf(newline, from);
    const piece = chunk.subarray(from, end === -1 ? chunk.length : end);
    headerBytes += piece.length;
    if (headerBytes > headerLimitBytes) throw new EphError('internal', 'git cat-file sent a header that is too long.');
    header.push(piece);
    if (end === -1) return chunk.length;
    const line = Buffer.concat(header).toString('utf8');
    header = [];
    headerBytes = 0;
    object = parseHeader(line);
    if (object === undefined) sink.answer(undefined);
    else {
      missingBytes = object.size + 1;
      kept = object.size > sink.limit() ? undefined : [];
      if (kept === undefined) sink.answer({ ...object, content: undefined });
    }
    return end + 1;
  };

  const readContent = (chunk: Buffer, from: number, current: Omit<GitObject, 'content'>): number => {
    const piece = chunk.subarray(from, from + missingBytes);
    missingBytes -= piece.length;
    kept?.push(piece);
    if (missingBytes > 0) return chunk.length;
    object = undefined;
    const [first] = kept ?? [];
    if (first !== undefined && kept !== undefined) {
      const whole = kept.length === 1 ? first : Buffer.concat(kept);
      sink.answer({ ...current, content: whole.subarray(0, current.size) });
    }
    kept = undefined;
    return from + piece.length;
  };

  return (chunk) => {
    let at = 0;
    while (at < chunk.length) at = object === undefined ? readHeader(chunk, at) : readContent(chunk, at, object);
  };
};

const parseHeader = (line: string): Omit<GitObject, 'content'> | undefined => {
  const found = /^([0-9a-f]{40}|[0-9a-f]{64}) (commit|tree|blob|tag) (\d+)$/.exec(line);
  if (found) return { id: found[1] ?? '', type: found[2] ?? '', size: Number(found[3]) };
  if (/ (?:missing|ambiguous)$/.test(line)) return undefined;
  throw new EphError('internal', `git cat-file sent "${line.slice(0, 200)}", which is not a valid header.`);
};
