import { setImmediate as turn } from 'node:timers/promises';
import type { LogEntry, LogOptions } from '@eph/engine/provider/provider';
import type { LogFile, LogReader, TimedLine } from './log-file.ts';
import { pause } from './pause.ts';

const checkEveryMs = 100;

/** What one part of a component writes. */
export interface PartLog {
  readonly part: string;
  readonly shared?: string;
  readonly log: LogFile;
}

/**
 * The lines of a component: of the version that serves, of the one on its way, and of those that retire. Ends when the component
 * is gone, when the signal aborts, or, without `follow`, at the end of what is there.
 */
export async function* followLogs(
  logs: () => readonly PartLog[] | undefined,
  { tail, since, follow, signal }: LogOptions,
): AsyncGenerator<LogEntry> {
  const readers = new Map<LogFile, LogReader>();
  const entries: LogEntry[] = [];
  // Times are right to a second, and a line that may be new enough is.
  const second = since && Math.floor(since.getTime() / 1000);
  const from = second === undefined ? '' : new Date(second * 1000).toISOString();
  const select = ({ log: _, ...whose }: PartLog, lines: readonly TimedLine[]): readonly LogEntry[] =>
    lines.filter(({ at }) => (at ?? '') >= from).map((line) => ({ ...line, ...whose }));
  for (const one of logs() ?? []) {
    const { reader, pieces } = one.log.openReader(tail, second);
    readers.set(one.log, reader);
    for (const lines of pieces) {
      if (signal.aborted) return;
      entries.push(...select(one, lines));
      // Others come between two pieces.
      await turn();
    }
    if (!follow) entries.push(...select(one, reader.finish()));
  }
  if (tail > 0) yield* entries.slice(-tail);
  while (follow && !signal.aborted) {
    const present = logs();
    if (present === undefined) return;
    let news = 0;
    for (const one of present) {
      const fresh = readerOf(one.log, readers).read();
      news += fresh.length;
      for (const entry of select(one, fresh)) {
        if (signal.aborted) return;
        yield entry;
      }
    }
    for (const log of readers.keys()) if (!present.some((one) => one.log === log)) readers.delete(log);
    await (news === 0 ? pause(checkEveryMs, signal) : turn());
  }
}

/** A version that started meanwhile is read from its beginning. */
const readerOf = (log: LogFile, readers: Map<LogFile, LogReader>): LogReader => {
  const known = readers.get(log);
  if (known !== undefined) return known;
  const reader = log.openReaderAtStart();
  readers.set(log, reader);
  return reader;
};
