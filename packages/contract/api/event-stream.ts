const longestEvent = 4 * 1024 * 1024;

export interface ServerSentEvent {
  /** Empty where it has none. */
  readonly name: string;
  readonly data: string;
}

/** Leaves out comments, and what is without data. */
export async function* readEventStream(chunks: AsyncIterable<unknown>): AsyncGenerator<ServerSentEvent, void> {
  let rest = '';
  let name = '';
  let data: string[] = [];
  for await (const chunk of chunks) {
    // A carriage return at the very end may be the first half of a line break.
    const lines = (rest + String(chunk)).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    if (rest.length > longestEvent) throw new Error('an event is longer than 4 MiB');
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) yield { name, data: data.join('\n') };
        name = '';
        data = [];
      } else if (line.startsWith('data:')) data.push(valueOf(line));
      else if (line.startsWith('event:')) name = valueOf(line);
    }
  }
}

const valueOf = (line: string): string => line.slice(line.indexOf(':') + 1).replace(/^ /, '');
