import type { LogOptions } from '@eph/engine/provider/provider';
import type { Instance } from './instance.ts';
import type { LogReader } from './log-file.ts';
import { pause } from './pause.ts';

const lookEveryMs = 100;

/**
 * The lines of a component: of the version that serves, of the one on its way, and of those that retire. Ends when the component
 * is gone, when the signal aborts, or, without `follow`, at the end of what is there.
 */
export async function* followLogs(
  instances: () => readonly Instance[] | undefined,
  { tail, follow, signal }: LogOptions,
): AsyncGenerator<string> {
  const readers = new Map<Instance, LogReader>();
  const lines: string[] = [];
  for (const instance of instances() ?? []) {
    const opened = instance.log.openReader(tail);
    readers.set(instance, opened.reader);
    lines.push(...opened.lines, ...(follow ? [] : opened.reader.finish()));
  }
  if (tail > 0) yield* lines.slice(-tail);
  while (follow && !signal.aborted) {
    const present = instances();
    if (present === undefined) return;
    let news = 0;
    for (const instance of present) {
      const fresh = readerOf(instance, readers).read();
      news += fresh.length;
      for (const line of fresh) {
        if (signal.aborted) return;
        yield line;
      }
    }
    for (const instance of readers.keys()) if (!present.includes(instance)) readers.delete(instance);
    if (news === 0) await pause(lookEveryMs, signal);
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
