const longestEvent = 4 * 1024 * 1024;

export async function* readEventStream(chunks: AsyncIterable<unknown>): AsyncGenerator<string> {
  let rest = '';
  let data: string[] = [];
  for await (const chunk of chunks) {
    // A carriage return at the very end may be the first half of a line break.
    const lines = (rest + String(chunk)).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    if (rest.length > longestEvent) throw new Error('an event is longer than 4 MiB');
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) yield data.join('\n');
        data = [];
      } else if (line.startsWith('data:')) data.push(line.slice(line.startsWith('data: ') ? 6 : 5));
    }
  }
}
