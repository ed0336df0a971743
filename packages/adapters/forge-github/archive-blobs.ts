import { createHash, type Hash } from 'node:crypto';
import { EphError } from '@eph/contract';

export interface BlobRange {
  readonly offset: number;
  readonly size: number;
}

export interface ArchiveReader {
  add(chunk: Buffer): void;
  /** Throws if the archive is incomplete. */
  end(): ReadonlyMap<string, BlobRange>;
}

const blockBytes = 512;

/**
 * Finds the blobs in a tar archive by the hash of their content. File names are ignored: the tree says which content a
 * file has. Offsets are from the beginning of the archive.
 */
export const createArchiveReader = (format: 'sha1' | 'sha256'): ArchiveReader => {
  const ranges = new Map<string, BlobRange>();
  let offset = 0;
  let header = Buffer.alloc(0);
  let open: { readonly hash: Hash | undefined; readonly range: BlobRange; left: number } | undefined;
  let padding = 0;
  let ended = false;

  const beginBlob = (size: number): Hash => createHash(format).update(`blob ${size}\0`);

  const noteLink = (target: Buffer) => {
    const id = beginBlob(target.length).update(target).digest('hex');
    ranges.set(id, { offset: offset - blockBytes + linkOffset, size: target.length });
  };

  const readHeader = (block: Buffer) => {
    if (block.every((byte) => byte === 0)) {
      ended = true;
      return;
    }
    const { type, size } = parseHeader(block);
    if (type === 'link') noteLink(linkTarget(block));
    padding = (blockBytes - (size % blockBytes)) % blockBytes;
    if (size > 0 || type === 'file')
      open = { hash: type === 'file' ? beginBlob(size) : undefined, range: { offset, size }, left: size };
    closeIfRead();
  };

  const closeIfRead = () => {
    if (open === undefined || open.left > 0) return;
    if (open.hash !== undefined) ranges.set(open.hash.digest('hex'), open.range);
    open = undefined;
  };

  /** Returns the number of bytes used. */
  const step = (chunk: Buffer): number => {
    if (open !== undefined) {
      const piece = chunk.subarray(0, open.left);
      open.hash?.update(piece);
      open.left -= piece.length;
      offset += piece.length;
      closeIfRead();
      return piece.length;
    }
    const wanted = padding > 0 ? padding : blockBytes - header.length;
    const piece = chunk.subarray(0, wanted);
    offset += piece.length;
    if (padding > 0) padding -= piece.length;
    else {
      header = Buffer.concat([header, piece]);
      if (header.length === blockBytes) {
        const block = header;
        header = Buffer.alloc(0);
        readHeader(block);
      }
    }
    return piece.length;
  };

  return {
    add(chunk) {
      for (let rest = chunk; rest.length > 0 && !ended; ) rest = rest.subarray(step(rest));
    },
    end() {
      if (!ended) throw broken('it ends early');
      return ranges;
    },
  };
};

const sizeField = [124, 136] as const;
const typeOffset = 156;
const linkOffset = 157;
const linkEnd = 257;
const checksumField = [148, 156] as const;

const parseHeader = (block: Buffer): { readonly type: 'file' | 'link' | 'other'; readonly size: number } => {
  const stated = parseOctal(block, checksumField);
  const blank = checksumField[1] - checksumField[0];
  const sum = block.reduce((total, byte) => total + byte, 0);
  const own = block.subarray(...checksumField).reduce((total, byte) => total + byte, 0);
  if (stated !== sum - own + blank * 0x20) throw broken('a header is damaged');
  const flag = String.fromCharCode(block[typeOffset] ?? 0);
  const type = flag === '0' || flag === '\0' ? 'file' : flag === '2' ? 'link' : 'other';
  return { type, size: parseOctal(block, sizeField) };
};

const parseOctal = (block: Buffer, [start, end]: readonly [number, number]): number => {
  const text = block
    .toString('latin1', start, end)
    .replace(/[\0 ]+$/, '')
    .trim();
  // Sizes above 8 GiB are encoded differently, and exceed the export limit.
  if (!/^[0-7]*$/.test(text)) throw broken('a number is invalid');
  return text === '' ? 0 : Number.parseInt(text, 8);
};

/** Longer targets are stored elsewhere; those links are read one by one. */
const linkTarget = (block: Buffer): Buffer => {
  const field = block.subarray(linkOffset, linkEnd);
  const end = field.indexOf(0);
  return field.subarray(0, end === -1 ? field.length : end);
};

const broken = (why: string): EphError =>
  new EphError('forge.incomplete', `The archive that GitHub sent cannot be used: ${why}.`);
