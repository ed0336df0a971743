import { closeSync, constants, openSync, rmSync, writeFileSync } from 'node:fs';
import { plainFile, readEnd, sizeOf } from './file-range.ts';

interface Note {
  /** `-` where it is not known. */
  readonly second: string;
  readonly size: number;
}

const chunkBytes = 64 * 1024;
const mostBytes = 16 * 1024 * 1024;
const noteLine = /^(-|\d{1,11}) (\d{1,15})$/;

/**
 * When the bytes of a log were written. The file `times` beside it has lines `<epoch seconds> <size>`: at that time the log had
 * that size. For what was written while no ephd ran, the time is `-`.
 */
export class LogTimes {
  readonly #log: string;
  /** Of the last note. */
  #size = 0;
  #second = '';

  constructor(log: string) {
    this.#log = log;
  }

  /** Bytes on disk. */
  get bytes(): number {
    return sizeOf(timesOf(this.#log));
  }

  /** Goes on with the notes of an earlier ephd. */
  open(size: number): void {
    this.#size = readNotes(this.#log, size).at(-1)?.size ?? 0;
    this.#note(unknown, size);
  }

  /** Notes that the log has this size; at most once a second, and only if that is news. */
  note(second: number, size: number): void {
    if (String(second) !== this.#second) this.#note(String(second), size);
  }

  #note(second: string, size: number): void {
    if (size === this.#size) return;
    try {
      // The service cut its log, so no note is true any more.
      if (size < this.#size) removeNotes(this.#log);
      append(timesOf(this.#log), `${second} ${size}\n`);
      this.#size = size;
      this.#second = second;
    } catch {
      // The log must be kept within its size also when its times cannot be written.
    }
  }

  /**
   * The log is copied to `log.1` from an offset on and then cut. There are no notes until that is done: a time that is not known is
   * better than a wrong one.
   */
  rotate(second: number, size: number, keptFrom: number, copyAndCut: () => void): void {
    this.#note(String(second), size);
    const notes = readNotes(this.#log, keptFrom).filter((note) => note.size > keptFrom);
    const older = `${this.#log}.1`;
    removeNotes(this.#log);
    removeNotes(older);
    this.#size = 0;
    copyAndCut();
    try {
      append(timesOf(older), notes.map((note) => `${note.second} ${note.size - keptFrom}\n`).join(''));
    } catch {
      // On a full disk old lines lose their times.
    }
  }

  /** What came after the last note was written since, so in the last second. */
  read(from: number, second: number): TimeOf {
    const size = this.#size;
    return readTimes(this.#log, from, (offset) => (offset > size ? toTime(String(second)) : null));
  }
}

/** When the byte before an offset was written. Offsets are asked for in their order. */
export type TimeOf = (offset: number) => string | null;

/** @param from is before all offsets that are asked for */
export const readTimes = (log: string, from: number, afterLastNote: TimeOf): TimeOf => {
  const notes = readNotes(log, from);
  // The service cut its log, and the notes are about what was there before.
  if ((notes.at(-1)?.size ?? 0) > sizeOf(log)) return afterLastNote;
  let index = 0;
  return (offset) => {
    while ((notes[index]?.size ?? offset) < offset) index += 1;
    const note = notes[index];
    return note === undefined ? afterLastNote(offset) : toTime(note.second);
  };
};

/**
 * Of what a log has from an offset on, everything before this place was written before that second, or nobody knows when. It may
 * be within a line.
 */
export const findWrittenSince = (log: string, from: number, second: number): number => {
  const notes = readNotes(log, from);
  // The service cut its log, and the notes are about what was there before.
  if ((notes.at(-1)?.size ?? 0) > sizeOf(log)) return from;
  const first = notes.findIndex((note) => note.second !== unknown && Number(note.second) >= second);
  const before = first === -1 ? notes.at(-1) : notes[first - 1];
  return Math.max(from, before?.size ?? 0);
};

const unknown = '-';

const toTime = (second: string): string | null => (second === unknown ? null : new Date(Number(second) * 1000).toISOString());

const timesOf = (log: string): string => `${log}.times`;

/** The notes about all bytes from an offset on, and maybe some more. */
const readNotes = (log: string, from: number): readonly Note[] => {
  for (let bytes = chunkBytes; ; bytes *= 4) {
    const end = readEnd(timesOf(log), bytes);
    const lines = end.toString('latin1').split('\n');
    const notes = (end.length < bytes ? lines : lines.slice(1)).flatMap(parseNote);
    if (end.length < bytes || bytes > mostBytes || (notes[0]?.size ?? 0) < from) return notes;
  }
};

const parseNote = (line: string): readonly Note[] => {
  const [, second, size] = noteLine.exec(line) ?? [];
  return second === undefined ? [] : [{ second, size: Number(size) }];
};

const removeNotes = (log: string): void => rmSync(timesOf(log), { recursive: true, force: true });

const append = (path: string, line: string): void => {
  const file = openSync(path, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | plainFile, 0o600);
  try {
    writeFileSync(file, line);
  } finally {
    closeSync(file);
  }
};
