import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  lstatSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { isDiskFull } from './faults.ts';
import { plainFile, readEnd, readRange, sizeOf } from './file-range.ts';
import { cleanLine, LineSplitter } from './log-lines.ts';
import { findWrittenSince, LogTimes, readTimes, type TimeOf } from './log-times.ts';

/** What is read and split at once: others wait meanwhile. */
const chunkBytes = 64 * 1024;
/** However many lines are asked for. */
const tailBytes = 8 * 1024 * 1024;

export interface TimedLine {
  readonly at: string | null;
  readonly text: string;
}

/**
 * What one instance writes. The service holds the file open, so it is never replaced: when it is full, its end is copied to
 * `log.1` and the file is cut to nothing. The service appends, so it goes on at the new end.
 */
export class LogFile {
  readonly path: string;
  /** How often it was cut, and what of it was kept the last time: what a reader needs to find the rest of what it was reading. */
  #cuts = 0;
  #keptFrom = 0;
  readonly #times: LogTimes;
  readonly #now: () => number;

  constructor(path: string, now: () => number) {
    this.path = path;
    this.#times = new LogTimes(path);
    this.#now = now;
  }

  get #second(): number {
    return Math.floor(this.#now() / 1000);
  }

  /** For standard output and error of the service. */
  openForService(): number {
    if (lstatSync(this.path, { throwIfNoEntry: false })?.isFile() === false) rmSync(this.path, { recursive: true });
    return openSync(this.path, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | plainFile, 0o600);
  }

  /** From now on its size is noted. */
  open(): void {
    this.#times.open(sizeOf(this.path));
  }

  /**
   * Notes its size. Returns the room that it takes on disk, with its notes: a service that writes at a place of its own choosing
   * makes holes, which cost nothing.
   */
  noteSize(): number {
    const { size, blocks } = lstatSync(this.path, { throwIfNoEntry: false }) ?? { size: 0, blocks: 0 };
    this.#times.note(this.#second, size);
    return Math.min(size, blocks * 512) + this.#times.bytes;
  }

  /** What is written between the copy and the cut is lost; it is the price of not standing between service and disk. */
  rotate(limitBytes: number): void {
    const file = openSync(this.path, constants.O_RDWR | plainFile);
    try {
      const { size } = fstatSync(file);
      const keptFrom = Math.max(0, size - limitBytes);
      this.#times.rotate(this.#second, size, keptFrom, () => {
        const kept = Buffer.alloc(size - keptFrom);
        const length = readSync(file, kept, 0, kept.length, keptFrom);
        this.#keep(kept.subarray(0, length));
        ftruncateSync(file, 0);
      });
      this.#cuts += 1;
      this.#keptFrom = keptFrom;
    } finally {
      closeSync(file);
    }
  }

  #keep(bytes: Buffer): void {
    try {
      writeFileSync(`${this.pathOfOlder}.tmp`, bytes, { mode: 0o600 });
      renameSync(`${this.pathOfOlder}.tmp`, this.pathOfOlder);
    } catch (error) {
      rmSync(`${this.pathOfOlder}.tmp`, { force: true });
      // On a full disk, making room is worth more than old lines.
      if (!isDiskFull(error)) throw error;
    }
  }

  /** The last lines with something on them, shortened: a hint for a message. */
  readLastLines(count: number): readonly string[] {
    const lines = readEnd(this.path, 4096).toString('latin1').split('\n');
    const last = lines.filter((line) => line.trim() !== '').slice(-count);
    return last.map((line) => cleanLine(Buffer.from(line, 'latin1')).trim().slice(0, 200));
  }

  openReaderAtStart(): LogReader {
    return new LogReader(this, 0, this.#cuts);
  }

  /**
   * A reader, and the pieces that it reads of what is there: they end with the last `count` lines, or with all since a second if
   * these are fewer.
   */
  openReader(count: number, since = 0): { readonly reader: LogReader; readonly pieces: Iterable<readonly TimedLine[]> } {
    const { reader, bytes } = this.#openAt(count, since);
    return { reader, pieces: reader.readPieces(bytes) };
  }

  #openAt(count: number, since: number): { readonly reader: LogReader; readonly bytes: number } {
    const end = sizeOf(this.path);
    if (count <= 0) return { reader: new LogReader(this, end, this.#cuts), bytes: 0 };
    const first = this.#findStart(this.path, end, since);
    let [found, from] = [0, end];
    while (from > first && found <= count) {
      const start = Math.max(first, from - chunkBytes);
      found += countLines(readRange(this.path, start, from));
      from = start;
    }
    if (from > 0 || found > count) return { reader: new LogReader(this, from, this.#cuts), bytes: end - from };
    const endOfOlder = sizeOf(this.pathOfOlder);
    const older = this.#findStart(this.pathOfOlder, endOfOlder, since);
    return { reader: new LogReader(this, 0, this.#cuts, older), bytes: endOfOlder - older + end };
  }

  /** The beginning of a line, unless that is too long. */
  #findStart(path: string, end: number, since: number): number {
    const limit = Math.max(0, end - tailBytes);
    const place = since === 0 ? limit : findWrittenSince(path, limit, since);
    if (place === limit) return limit;
    const start = Math.max(limit, place - chunkBytes);
    const newLine = readRange(path, start, place).lastIndexOf(10);
    return newLine === -1 ? start : start + newLine + 1;
  }

  /** When the byte before an offset was written. */
  readTimes(from: number): TimeOf {
    return this.#times.read(from, this.#second);
  }

  /** What was kept when it was cut the last time. */
  get pathOfOlder(): string {
    return `${this.path}.1`;
  }

  get cuts(): number {
    return this.#cuts;
  }

  /** Cheap, since every follower asks ten times a second. */
  isAtEnd(offset: number, cuts: number): boolean {
    return cuts === this.#cuts && sizeOf(this.path) === offset;
  }

  /** Where a reader that stood at `offset` before the file was cut `cuts` times goes on: in `log.1` if `older` is a number. */
  locate(
    offset: number,
    cuts: number,
  ): { readonly older: number | undefined; readonly offset: number; readonly cuts: number; readonly missed: boolean } {
    if (cuts === this.#cuts) {
      const isCutByService = sizeOf(this.path) < offset;
      return { older: undefined, offset: isCutByService ? 0 : offset, cuts, missed: false };
    }
    const missed = this.#cuts > cuts + 1 || offset < this.#keptFrom;
    const older = this.#cuts > cuts + 1 ? 0 : Math.max(0, offset - this.#keptFrom);
    return { older, offset: 0, cuts: this.#cuts, missed };
  }
}

const gap: TimedLine = { at: null, text: '… lines are missing here: the log grew faster than it was read' };

/** Follows one log file, through cuts. */
export class LogReader {
  readonly #file: LogFile;
  readonly #splitter = new LineSplitter();
  #offset: number;
  #cuts: number;
  /** Where it is in `log.1`, which it reads before the file. */
  #older: number | undefined;
  /** Kept while there is more to read of what they are about: that may be many pieces. */
  #times: { readonly of: TimeOf; readonly until: number } | undefined;
  #bytesRead = 0;

  constructor(file: LogFile, offset: number, cuts: number, older?: number) {
    this.#file = file;
    this.#offset = offset;
    this.#cuts = cuts;
    this.#older = older;
  }

  *readPieces(bytes: number): Generator<readonly TimedLine[]> {
    for (let before = -1; this.#bytesRead > before && this.#bytesRead < bytes; ) {
      before = this.#bytesRead;
      yield this.read();
    }
  }

  /** The next lines, of a piece: none when there is nothing new, or when a line is longer than that. */
  read(): readonly TimedLine[] {
    const older = this.#readOlder();
    if (this.#older !== undefined || this.#file.isAtEnd(this.#offset, this.#cuts)) return older;
    const place = this.#file.locate(this.#offset, this.#cuts);
    if (place.cuts !== this.#cuts || place.offset !== this.#offset) this.#times = undefined;
    this.#older = place.older;
    this.#cuts = place.cuts;
    this.#offset = place.offset;
    const before = [...older, ...(place.missed ? [gap] : []), ...this.#readOlder()];
    if (this.#older !== undefined) return before;
    const { path } = this.#file;
    const from = this.#offset;
    const bytes = readRange(path, from, from + chunkBytes);
    this.#offset += bytes.length;
    if (bytes.length === 0) return before;
    if (this.#times === undefined || this.#offset > this.#times.until)
      this.#times = { of: this.#file.readTimes(from), until: sizeOf(path) };
    const lines = this.#split(bytes, from, this.#times.of);
    if (this.#offset >= this.#times.until) this.#times = undefined;
    return [...before, ...lines];
  }

  #readOlder(): readonly TimedLine[] {
    const from = this.#older;
    if (from === undefined) return [];
    const bytes = this.#cuts === this.#file.cuts ? readRange(this.#file.pathOfOlder, from, from + chunkBytes) : undefined;
    if (bytes !== undefined) this.#times ??= { of: readTimes(this.#file.pathOfOlder, from, () => null), until: Infinity };
    const lines = bytes === undefined || this.#times === undefined ? [gap] : this.#split(bytes, from, this.#times.of);
    this.#older = bytes?.length === chunkBytes ? from + chunkBytes : undefined;
    if (this.#older === undefined) this.#times = undefined;
    return lines;
  }

  #split(bytes: Buffer, from: number, timeOf: TimeOf): readonly TimedLine[] {
    this.#bytesRead += bytes.length;
    return this.#splitter.push(bytes).map(({ text, end }) => ({ at: timeOf(from + end), text }));
  }

  /** The unfinished line at the end, if there is one. */
  finish(): readonly TimedLine[] {
    const text = this.#splitter.finish();
    return text === undefined ? [] : [{ at: this.#file.readTimes(this.#offset)(this.#offset), text }];
  }
}

const countLines = (bytes: Buffer): number => {
  let count = 0;
  for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) count += 1;
  return count;
};
