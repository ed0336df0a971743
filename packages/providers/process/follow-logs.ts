import type { LogEntry, LogOptions } from '@eph/engine/provider/provider';
import type { Instance } from './instance.ts';
import type { LogReader, TimedLine } from './log-file.ts';
import { pause } from './pause.ts';

const checkEveryMs = 100;

/**
 * The lines of a component: of the version that serves, of the one on its way, and of those that retire. Ends when the component
 * is gone, when the signal aborts, or, without `follow`, at the end of what is there.
 */
export async function* followLogs(
  instances: () => readonly Instance[] | undefined,
  { tail, since, follow, signal }: LogOptions,
): AsyncGenerator<LogEntry> {
  const readers = new Map<Instance, LogReader>();
  const entries: LogEntry[] = [];
  // Times are right to a second, and a line that may be new enough is.
  const from = since === undefined ? '' : new Date(Math.floor(since.getTime() / 1000) * 1000).toISOString();
  const select = ({ record }: Instance, lines: readonly TimedLine[]): readonly LogEntry[] =>
    lines.filter(({ at }) => (at ?? '') >= from).map((line) => ({ ...line, part: record.id }));
  for (const instance of instances() ?? []) {
    const { reader, lines } = instance.log.openReader(tail);
    readers.set(instance, reader);
    entries.push(...select(instance, lines), ...(follow ? [] : select(instance, reader.finish())));
  }
  if (tail > 0) yield* entries.slice(-tail);
  while (follow && !signal.aborted) {
    const present = instances();
    if (present === undefined) return;
    let news = 0;
    for (const instance of present) {
      const fresh = readerOf(instance, readers).read();
      news += fresh.length;
      for (const entry of select(instance, fresh)) {
        if (signal.aborted) return;
        yield entry;
      }
    }
    for (const instance of readers.keys()) if (!present.includes(instance)) readers.delete(instance);
    if (news === 0) await pause(checkEveryMs, signal);
  }
}

/** A version that started meanwhile is read from its beginning. */
const readerOf = (instance: Instance, readers: Map<Instance, LogReader>): LogReader => {
  const known = readers.get(instance);
  if (known !== undefined) return known;
  const reader = instance.log.openReaderAtStart();
  readers.set(instance, reader);
  return reader;
};
