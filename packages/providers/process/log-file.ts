import { closeSync, fstatSync, ftruncateSync, openSync, readSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { isAbsent, isDiskFull } from './faults.ts';
import { cleanLine, LineSplitter } from './log-lines.ts';

const chunkBytes = 64 * 1024;
/** However many lines are asked for. */
const tailBytes = 8 * 1024 * 1024;

/**
 * What one instance writes. The service holds the file open, so it is never replaced: when it is full, its end is copied to
 * `log.1` and the file is cut to nothing. The service appends, so it goes on at the new end.
 */
export class LogFile {
  readonly path: string;
  /** How often it was cut, and how much was in it the last time: what a reader needs to find the rest of what it was reading. */
  #cuts = 0;
  #cutAt = 0;
  #keptFrom = 0;

  constructor(path: string) {
    this.path = path;
  }

  /** For standard output and error of the service. */
  openForService(): number {
    return openSync(this.path, 'a', 0o600);
  }

  /** Bytes on disk: a service that writes at a place of its own choosing makes holes, which cost nothing. */
  readSize(): number {
    const stat = statSync(this.path, { throwIfNoEntry: false });
    return stat === undefined ? 0 : Math.min(stat.size, stat.blocks * 512);
  }

  /** What is written between the copy and the cut is lost; it is the price of not standing between service and disk. */
  rotate(limitBytes: number): void {
    const file = openSync(this.path, 'r+');
    try {
      const { size } = fstatSync(file);
      const keptFrom = Math.max(0, size - limitBytes);
      const kept = Buffer.alloc(size - keptFrom);
      const length = readSync(file, kept, 0, kept.length, keptFrom);
      this.#keep(kept.subarray(0, length));
      ftruncateSync(file, 0);
      this.#cuts += 1;
      this.#cutAt = size;
      this.#keptFrom = keptFrom;
    } finally {
      closeSync(file);
    }
  }

  #keep(bytes: Buffer): void {
    try {
      writeFileSync(`${this.path}.1.tmp`, bytes, { mode: 0o600 });
      renameSync(`${this.path}.1.tmp`, `${this.path}.1`);
    } catch (error) {
      rmSync(`${this.path}.1.tmp`, { force: true });
      // On a full disk, making room is worth more than old lines.
      if (!isDiskFull(error)) throw error;
    }
  }

  /** The last line with something on it, shortened: a hint for a message. */
  readLastLine(): string {
    const lines = readEnd(this.path, 4096).toString('latin1').split('\n');
    const last = lines.findLast((line) => line.trim() !== '') ?? '';
    return cleanLine(Buffer.from(last, 'latin1')).trim().slice(0, 200);
  }

  openReaderAtStart(): LogReader {
    return new LogReader(this, 0, this.#cuts);
  }

  /** The last `count` finished lines, and a reader that goes on from there. */
  openReader(count: number): { readonly lines: readonly string[]; readonly reader: LogReader } {
    const end = sizeOf(this.path);
    const reader = new LogReader(this, end, this.#cuts);
    if (count <= 0) return { lines: [], reader };
    const bytes = this.#readTail(end, count);
    return { lines: reader.push(bytes).slice(-count), reader };
  }

  /** Enough of the end to hold `count` lines, the older file included if need be. */
  #readTail(end: number, count: number): Buffer {
    const chunks: Buffer[] = [];
    let found = 0;
    let from = end;
    while (from > 0 && found <= count && end - from < tailBytes) {
      const start = Math.max(0, from - chunkBytes);
      const chunk = readRange(this.path, start, from);
      chunks.unshift(chunk);
      found += countLines(chunk);
      from = start;
    }
    if (from === 0 && found <= count) chunks.unshift(readEnd(`${this.path}.1`, tailBytes));
    return Buffer.concat(chunks);
  }

  /** Where a reader that stood at `offset` before the file was cut `cuts` times goes on. */
  locate(
    offset: number,
    cuts: number,
  ): { readonly rest: Buffer; readonly offset: number; readonly cuts: number; readonly missed: boolean } {
    if (cuts === this.#cuts) {
      const cutByStranger = sizeOf(this.path) < offset;
      return { rest: Buffer.alloc(0), offset: cutByStranger ? 0 : offset, cuts, missed: false };
    }
    const missed = this.#cuts > cuts + 1 || offset < this.#keptFrom;
    const from = this.#cuts > cuts + 1 ? 0 : Math.max(0, offset - this.#keptFrom);
    return { rest: readRange(`${this.path}.1`, from, this.#cutAt - this.#keptFrom), offset: 0, cuts: this.#cuts, missed };
  }
}

/** Follows one log file, through cuts. */
export class LogReader {
  readonly #file: LogFile;
  readonly #splitter = new LineSplitter();
  #offset: number;
  #cuts: number;

  constructor(file: LogFile, offset: number, cuts: number) {
    this.#file = file;
    this.#offset = offset;
    this.#cuts = cuts;
  }

  /** The next lines; none when there is nothing new. */
  read(): readonly string[] {
    const place = this.#file.locate(this.#offset, this.#cuts);
    this.#cuts = place.cuts;
    const gap = place.missed ? ['… lines are missing here: the log grew faster than it was read'] : [];
    const bytes = readRange(this.#file.path, place.offset, place.offset + chunkBytes);
    this.#offset = place.offset + bytes.length;
    return [...gap, ...this.push(place.rest), ...this.push(bytes)];
  }

  push(bytes: Buffer): readonly string[] {
    return this.#splitter.push(bytes);
  }

  /** The unfinished line at the end, if there is one. */
  finish(): readonly string[] {
    return this.#splitter.finish();
  }
}

const countLines = (bytes: Buffer): number => {
  let count = 0;
  for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) count += 1;
  return count;
};

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

const readEnd = (path: string, bytes: number): Buffer => {
  const size = sizeOf(path);
  return readRange(path, Math.max(0, size - bytes), size);
};

const readRange = (path: string, from: number, to: number): Buffer => {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (error) {
    if (isAbsent(error)) return Buffer.alloc(0);
    throw error;
  }
  try {
    const length = Math.max(0, Math.min(to, fstatSync(file).size) - from);
    const bytes = Buffer.alloc(length);
    return bytes.subarray(0, readSync(file, bytes, 0, length, from));
  } finally {
    closeSync(file);
  }
};
