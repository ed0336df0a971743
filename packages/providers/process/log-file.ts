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
import { LogTimes, readTimes, type TimeOf } from './log-times.ts';

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
      writeFileSync(`${this.path}.1.tmp`, bytes, { mode: 0o600 });
      renameSync(`${this.path}.1.tmp`, `${this.path}.1`);
    } catch (error) {
      rmSync(`${this.path}.1.tmp`, { force: true });
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

  /** The last `count` finished lines, and a reader that goes on from there. */
  openReader(count: number): { readonly lines: readonly TimedLine[]; readonly reader: LogReader } {
    const end = sizeOf(this.path);
    const reader = new LogReader(this, end, this.#cuts);
    if (count <= 0) return { lines: [], reader };
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
    const older = from === 0 && found <= count ? reader.pushOlder(Math.max(0, sizeOf(`${this.path}.1`) - tailBytes)) : [];
    return { lines: [...older, ...reader.push(Buffer.concat(chunks), from)].slice(-count), reader };
  }

  /** When the byte before an offset was written. */
  readTimes(from: number): TimeOf {
    return this.#times.read(from, this.#second);
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

  constructor(file: LogFile, offset: number, cuts: number) {
    this.#file = file;
    this.#offset = offset;
    this.#cuts = cuts;
  }

  /** The next lines; none when there is nothing new. */
  read(): readonly TimedLine[] {
    if (this.#file.isAtEnd(this.#offset, this.#cuts)) return [];
    const { older, offset, cuts, missed } = this.#file.locate(this.#offset, this.#cuts);
    this.#cuts = cuts;
    const bytes = readRange(this.#file.path, offset, offset + chunkBytes);
    this.#offset = offset + bytes.length;
    return [...(missed ? [gap] : []), ...(older === undefined ? [] : this.pushOlder(older)), ...this.push(bytes, offset)];
  }

  push(bytes: Buffer, from: number): readonly TimedLine[] {
    return bytes.length === 0 ? [] : this.#split(bytes, from, this.#file.readTimes(from));
  }

  /** What is in `log.1` from an offset on. */
  pushOlder(from: number): readonly TimedLine[] {
    const path = `${this.#file.path}.1`;
    return this.#split(
      readRange(path, from, from + tailBytes),
      from,
      readTimes(path, from, () => null),
    );
  }

  #split(bytes: Buffer, from: number, timeOf: TimeOf): readonly TimedLine[] {
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
