import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { LogFile, type TimedLine } from './log-file.ts';
import { LineSplitter } from './log-lines.ts';

const newPath = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'eph-log-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, 'log');
};
const newLog = (): LogFile => new LogFile(newPath(), Date.now);
const texts = (lines: readonly TimedLine[]): readonly string[] => lines.map(({ text }) => text);

const numbers = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, index) => `line ${from + index}`);
const write = (log: LogFile, lines: readonly string[]): void =>
  appendFileSync(log.path, lines.map((line) => `${line}\n`).join(''));

const readLast = (log: LogFile, count: number): readonly TimedLine[] => {
  const lines = [...log.openReader(count).pieces].flat();
  return count === 0 ? lines : lines.slice(-count);
};

describe('a log file', () => {
  it('hands out its last lines', () => {
    const log = newLog();
    write(log, numbers(1, 100_000));
    expect(texts(readLast(log, 3))).toEqual(numbers(99_998, 100_000));
    expect(texts(readLast(log, 50_000))).toEqual(numbers(50_001, 100_000));
    expect(texts(readLast(log, 0))).toEqual([]);
  });

  it('is empty before anything was written', () => {
    expect(texts(readLast(newLog(), 10))).toEqual([]);
    expect(newLog().readLastLines(1)).toEqual([]);
  });

  it('keeps its end when it is cut, and hands out lines from before the cut', () => {
    const log = newLog();
    write(log, numbers(1, 1_000));
    log.rotate(500);
    write(log, numbers(1_001, 1_003));
    expect(statSync(`${log.path}.1`).size).toBe(500);
    expect(texts(readLast(log, 5))).toEqual(numbers(999, 1_003));
  });

  it('is followed through cuts without losing or repeating a line', () => {
    const log = newLog();
    write(log, numbers(1, 10));
    const { reader } = log.openReader(0);
    write(log, numbers(11, 20));
    log.rotate(10_000);
    write(log, numbers(21, 30));
    expect(texts(reader.read())).toEqual(numbers(11, 30));
    appendFileSync(log.path, 'half a ');
    expect(texts(reader.read())).toEqual([]);
    log.rotate(10_000);
    appendFileSync(log.path, 'line\n');
    expect(texts(reader.read())).toEqual(['half a line']);
  });

  it('says so when it was cut faster than it was read', () => {
    const log = newLog();
    const { reader } = log.openReader(0);
    write(log, numbers(1, 1_000));
    log.rotate(100);
    expect(reader.read()[0]?.text).toContain('lines are missing here');
    log.rotate(100);
    log.rotate(100);
    expect(reader.read()[0]?.text).toContain('lines are missing here');
  });

  it('is followed when the service empties it', () => {
    const log = newLog();
    write(log, numbers(1, 10));
    const { reader } = log.openReader(0);
    truncateSync(log.path);
    write(log, ['after']);
    expect(texts(reader.read())).toEqual(['after']);
  });

  it('does not count the holes that a careless writer makes', () => {
    const log = newLog();
    writeFileSync(log.path, 'x');
    truncateSync(log.path, 100_000_000);
    expect(log.noteSize()).toBeLessThan(100_000);
  });

  it('is appended to by a service that holds it open while it is cut', () => {
    const log = newLog();
    const file = log.openForService();
    appendFileSync(file, 'before\n');
    log.rotate(100);
    appendFileSync(file, 'after\n');
    expect(readFileSync(log.path, 'utf8')).toBe('after\n');
  });
});

/** A log whose lines are the seconds in which they were written, seen by ephds that start and stop. */
class Seconds {
  readonly path = newPath();
  now = 1_000_000;
  file = this.startEphd();

  startEphd(): LogFile {
    this.file = new LogFile(this.path, () => this.now * 1000);
    this.file.open();
    return this.file;
  }

  write(count = 1): void {
    for (let line = 0; line < count; line += 1) appendFileSync(this.path, `${this.now}\n`);
  }

  /** A second passes, and ephd notes at its end how long the log is. */
  pass(seconds = 1): void {
    this.now += seconds;
    this.file.noteSize();
  }

  /** How many seconds each of the last lines is off; null where it has no time. */
  read(count = 1000): readonly (number | null)[] {
    const { reader, pieces } = this.file.openReader(count);
    return [...[...pieces].flat().slice(-count), ...reader.finish()].map(offBy);
  }
}

const offBy = ({ at, text }: TimedLine): number | null =>
  at === null ? null : Date.parse(at) / 1000 - Number.parseInt(text, 10);

describe('the times of lines', () => {
  it('are right to a second', () => {
    const log = new Seconds();
    for (let step = 0; step < 100; step += 1) {
      log.write(step % 7);
      log.pass(step % 3 === 0 ? 60 : 1);
      log.file.noteSize();
    }
    log.write();
    log.pass();
    log.write();
    appendFileSync(log.path, `${log.now} and no end`);
    const off = log.read();
    expect(off.length).toBeGreaterThan(200);
    expect(off.slice(-3)).toEqual([1, 0, 0]);
    expect(off.every((seconds) => seconds === 1 || seconds === 60 || seconds === 0)).toBe(true);
  });

  it('are noted only when something was written, and once a second at most', () => {
    const log = new Seconds();
    for (let step = 0; step < 10; step += 1) {
      log.write();
      log.file.noteSize();
    }
    for (let step = 0; step < 10; step += 1) log.pass();
    expect(readFileSync(`${log.path}.times`, 'utf8')).toBe('1000000 8\n1000001 80\n');
  });

  it('are not known for what was written while no ephd ran', () => {
    const log = new Seconds();
    log.write();
    log.pass();
    log.now += 10;
    log.write(2);
    log.startEphd();
    log.write();
    expect(log.read()).toEqual([1, null, null, 0]);
    log.pass();
    log.startEphd();
    log.write();
    log.pass();
    expect(log.read()).toEqual([1, null, null, 1, 1]);
  });

  it('are not known for a log from before times were noted', () => {
    const log = new Seconds();
    log.write(3);
    log.startEphd();
    expect(log.read()).toEqual([null, null, null]);
  });

  it('stay with lines that are kept when the log is cut', () => {
    const log = new Seconds();
    for (let step = 0; step < 100; step += 1) {
      log.write();
      log.pass();
    }
    log.write();
    log.file.rotate(404);
    log.write();
    log.pass();
    log.write();
    expect(log.read(40)).toEqual([...Array.from({ length: 37 }, () => 1), 0, 1, 0]);
    log.startEphd();
    expect(log.read(3)).toEqual([0, 1, null]);
  });

  it('are right for a reader that follows through cuts', () => {
    const log = new Seconds();
    const { reader } = log.file.openReader(0);
    const off: (number | null)[] = [];
    for (let step = 0; step < 50; step += 1) {
      log.write();
      if (step % 10 === 5) log.file.rotate(1000);
      if (step % 3 === 0) off.push(...reader.read().map(offBy));
      log.pass();
    }
    off.push(...reader.read().map(offBy));
    expect(off).toHaveLength(50);
    expect(off.every((seconds) => seconds === 0 || seconds === 1)).toBe(true);
  });

  it('say where to begin, so that older lines are not read', () => {
    const log = new Seconds();
    const writeMany = (): void => {
      for (let step = 0; step < 500; step += 1) {
        appendFileSync(log.path, `${log.now}\n`.repeat(100));
        log.pass();
      }
    };
    writeMany();
    log.file.rotate(10_000_000);
    writeMany();
    for (const ago of [3, 499, 501, 900]) {
      const pieces = [...log.file.openReader(100_000, log.now - ago).pieces];
      // A line is noted a second after it was written, and the one whose second it is counts.
      expect(pieces.flat()).toHaveLength(100 * (ago + 1));
      expect(pieces[0]?.[0]?.text).toBe(String(log.now - ago - 1));
    }
    expect([...log.file.openReader(100_000, log.now + 1).pieces].flat()).toEqual([]);
    const [all, few] = [log.file.openReader(100_000), log.file.openReader(5, log.now - 900)].map(({ pieces }) => [...pieces]);
    expect(all?.length).toBeGreaterThan(10);
    expect(few).toHaveLength(1);
    expect(few?.flat().length).toBeGreaterThanOrEqual(5);
  });

  it('stay with lines that are read in pieces while the log is cut', () => {
    const log = new Seconds();
    for (let step = 0; step < 300; step += 1) {
      log.write(100);
      log.pass();
    }
    const lines: TimedLine[] = [];
    for (const piece of log.file.openReader(100_000).pieces) {
      lines.push(...piece);
      if (lines.length < 10_000) log.file.rotate(10_000_000);
    }
    expect(lines.map(offBy)).toEqual(Array.from({ length: 30_000 }, () => 1));
  });

  it('take part of the room that a log may take', () => {
    const log = new Seconds();
    log.write();
    log.pass();
    expect(log.file.noteSize()).toBe(statSync(log.path).size + statSync(`${log.path}.times`).size);
    log.file.rotate(1000);
    expect(log.file.noteSize()).toBe(0);
  });

  it.each<readonly [string, (path: string) => void]>([
    ['empties its log', (path) => truncateSync(path)],
    ['replaces its log', (path) => replace(path, () => writeFileSync(path, ''))],
  ])('are right also after the service %s', (_, disturb) => {
    const log = new Seconds();
    log.write(2);
    log.pass();
    disturb(log.path);
    log.file.noteSize();
    log.write();
    log.pass();
    log.write();
    expect(log.read()).toEqual([1, 0]);
  });

  it.each<readonly [string, (notes: string) => void]>([
    ['removes the notes', (notes) => rmSync(notes)],
    ['writes nonsense into the notes', (notes) => writeFileSync(notes, '\0-1 x\n7\n99999999999 999999999999999\n')],
    ['puts a folder in the place of the notes', (notes) => replace(notes, mkdirSync)],
    ['puts a pipe in the place of the notes', (notes) => replace(notes, makePipe)],
    ['puts a link in the place of the notes', (notes) => replace(notes, link)],
  ])('may be lost, and no line, when the service %s', (_, disturb) => {
    const log = new Seconds();
    log.write(2);
    log.pass();
    disturb(`${log.path}.times`);
    log.write();
    log.pass();
    log.write();
    expect(log.read()).toHaveLength(4);
    log.startEphd();
    expect(log.read()).toHaveLength(4);
    log.file.rotate(1000);
    log.write();
    log.pass();
    expect(log.read(1)).toEqual([1]);
  });

  it.each<readonly [string, (path: string) => void]>([
    ['folder', mkdirSync],
    ['pipe', makePipe],
    ['link', link],
  ])('and the log itself come to no harm when the service puts a %s in its place', (_, make) => {
    const log = new Seconds();
    log.write();
    log.pass();
    replace(log.path, make);
    log.pass();
    expect(log.read()).toEqual([]);
    closeSync(log.file.openForService());
    log.pass();
    log.write();
    expect(log.read()).toEqual([0]);
  });
});

const replace = (path: string, make: (path: string) => void): void => {
  rmSync(path);
  make(path);
};
const makePipe = (path: string): void => void execFileSync('/usr/bin/mkfifo', [path]);
const link = (path: string): void => symlinkSync('/dev/zero', path);

describe('lines', () => {
  it('are cut when they are too long, and the next one is whole again', () => {
    const splitter = new LineSplitter();
    const lines = [...splitter.push(Buffer.alloc(300_000, 'x')), ...splitter.push(Buffer.from('x\nnext\n'))];
    expect(lines.map(({ text }) => text.length)).toEqual([64 * 1024 + 2, 4]);
  });

  it('survive binary garbage, keep colours and lose what could move a cursor', () => {
    const garbage = Buffer.from([0xff, 0xfe, 0x00, 0x41, 0x0a]);
    const lines = new LineSplitter().push(
      Buffer.concat([garbage, Buffer.from('\x1b[31mred\x1b[0m \x1b[2J\x1b]0;title\x07\r\n')]),
    );
    expect(lines.map(({ text }) => text)).toEqual(['\ufffd\ufffd\ufffdA', '\x1b[31mred\x1b[0m \ufffd[2J\ufffd]0;title\ufffd']);
  });

  it('show no secrets', () => {
    const [line] = new LineSplitter().push(Buffer.from('connecting to postgres://eph:hunter22@db/eph\n'));
    expect(line?.text).toBe('connecting to postgres://***@db/eph');
  });
});
