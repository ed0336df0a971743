import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { LogFile } from './log-file.ts';
import { LineSplitter } from './log-lines.ts';

const newLog = (): LogFile => {
  const folder = mkdtempSync(join(tmpdir(), 'eph-log-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return new LogFile(join(folder, 'log'));
};

const numbers = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, index) => `line ${from + index}`);
const write = (log: LogFile, lines: readonly string[]): void =>
  appendFileSync(log.path, lines.map((line) => `${line}\n`).join(''));

describe('a log file', () => {
  it('hands out its last lines', () => {
    const log = newLog();
    write(log, numbers(1, 100_000));
    expect(log.openReader(3).lines).toEqual(numbers(99_998, 100_000));
    expect(log.openReader(50_000).lines).toEqual(numbers(50_001, 100_000));
    expect(log.openReader(0).lines).toEqual([]);
  });

  it('is empty before anything was written', () => {
    expect(newLog().openReader(10).lines).toEqual([]);
    expect(newLog().readLastLine()).toBe('');
  });

  it('keeps its end when it is cut, and hands out lines from before the cut', () => {
    const log = newLog();
    write(log, numbers(1, 1_000));
    log.rotate(500);
    write(log, numbers(1_001, 1_003));
    expect(statSync(`${log.path}.1`).size).toBe(500);
    expect(log.openReader(5).lines).toEqual(numbers(999, 1_003));
  });

  it('is followed through cuts without losing or repeating a line', () => {
    const log = newLog();
    write(log, numbers(1, 10));
    const { reader } = log.openReader(0);
    write(log, numbers(11, 20));
    log.rotate(10_000);
    write(log, numbers(21, 30));
    expect(reader.read()).toEqual(numbers(11, 30));
    appendFileSync(log.path, 'half a ');
    expect(reader.read()).toEqual([]);
    log.rotate(10_000);
    appendFileSync(log.path, 'line\n');
    expect(reader.read()).toEqual(['half a line']);
  });

  it('says so when it was cut faster than it was read', () => {
    const log = newLog();
    const { reader } = log.openReader(0);
    write(log, numbers(1, 1_000));
    log.rotate(100);
    expect(reader.read()[0]).toContain('lines are missing here');
    log.rotate(100);
    log.rotate(100);
    expect(reader.read()[0]).toContain('lines are missing here');
  });

  it('is followed when a stranger empties it', () => {
    const log = newLog();
    write(log, numbers(1, 10));
    const { reader } = log.openReader(0);
    truncateSync(log.path);
    write(log, ['after']);
    expect(reader.read()).toEqual(['after']);
  });

  it('does not count the holes that a careless writer makes', () => {
    const log = newLog();
    writeFileSync(log.path, 'x');
    truncateSync(log.path, 100_000_000);
    expect(log.readSize()).toBeLessThan(100_000);
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

describe('lines', () => {
  it('are cut when they are too long, and the next one is whole again', () => {
    const splitter = new LineSplitter();
    const lines = [...splitter.push(Buffer.alloc(300_000, 'x')), ...splitter.push(Buffer.from('x\nnext\n'))];
    expect(lines.map((line) => line.length)).toEqual([64 * 1024 + 2, 4]);
  });

  it('survive binary garbage, keep colours and lose what could move a cursor', () => {
    const garbage = Buffer.from([0xff, 0xfe, 0x00, 0x41, 0x0a]);
    const lines = new LineSplitter().push(
      Buffer.concat([garbage, Buffer.from('\x1b[31mred\x1b[0m \x1b[2J\x1b]0;title\x07\r\n')]),
    );
    expect(lines).toEqual(['\ufffd\ufffd\ufffdA', '\x1b[31mred\x1b[0m \ufffd[2J\ufffd]0;title\ufffd']);
  });

  it('show no secrets', () => {
    const [line] = new LineSplitter().push(Buffer.from('connecting to postgres://eph:hunter22@db/eph\n'));
    expect(line).toBe('connecting to postgres://***@db/eph');
  });
});
