import type { ExecConnection } from '@eph/contract';
import type { Context, InputStream } from '../context.ts';
import { findEnvironment } from '../find-environment.ts';
import type { Output } from '../output.ts';
import { safeLogLine } from '../safe-text.ts';

export interface ExecOptions {
  readonly component?: string;
  readonly tty?: boolean;
}

/** Returns the exit code of the command. */
export const exec = async (
  { client, out, err, stdin, variables }: Context,
  name: string,
  words: readonly string[],
  { component, tty }: ExecOptions,
): Promise<number> => {
  const input = stdin();
  const hasTerminal = tty ?? (input.isTTY === true && out.isTerminal);
  const { id } = await findEnvironment(client, name);
  const command = words.length === 0 ? ['sh'] : words;
  const terminal = hasTerminal ? { type: variables['TERM'] || 'xterm', ...sizeOf(out) } : undefined;
  return await client.exec({ id, component, command, terminal }, async (connection) => {
    using _terminal = hasTerminal ? connectTerminal(input, out, connection) : undefined;
    const writers = { output: createWriter(out, hasTerminal), errors: createWriter(err, hasTerminal) };
    void sendInput(input, connection);
    try {
      for await (const frame of connection.output())
        if (frame.type === 'exit') return frame.code;
        else await writers[frame.type](frame.bytes);
    } finally {
      // Otherwise eph waits for the next key.
      input.destroy();
    }
    throw new Error('it has no exit code');
  });
};

const sizeOf = ({ columns = 80, rows = 24 }: Output): { readonly columns: number; readonly rows: number } => ({
  // A terminal on a serial line has no size.
  columns: Math.min(Math.max(columns, 1), 1_000),
  rows: Math.min(Math.max(rows, 1), 1_000),
});

/** Every key goes to the command, also Ctrl-C. Node restores the terminal itself if a signal ends eph. */
const connectTerminal = (input: InputStream, out: Output, connection: ExecConnection): Disposable => {
  const stack = new DisposableStack();
  const setRaw = (isRaw: boolean): unknown => input.isTTY === true && input.setRawMode?.(isRaw);
  setRaw(true);
  stack.defer(() => void setRaw(false));
  stack.use(
    out.onResize(() => {
      const { columns, rows } = sizeOf(out);
      connection.resize(columns, rows);
    }),
  );
  return stack;
};

/** A terminal obeys what is in the output. It gets it unchanged only if somebody wanted a terminal for the command. */
const createWriter = (output: Output, hasTerminal: boolean): ((bytes: Uint8Array) => Promise<void>) => {
  if (hasTerminal || !output.isTerminal) return (bytes) => output.write(bytes);
  const decoder = new TextDecoder();
  return (bytes) => output.write(decoder.decode(bytes, { stream: true }).split('\n').map(safeLogLine).join('\n'));
};

const sendInput = async (input: InputStream, connection: ExecConnection): Promise<void> => {
  try {
    for await (const chunk of input) await connection.write(chunk as Uint8Array);
  } catch {
    // It cannot be read, as a folder, or the command has ended.
  }
  connection.endInput();
};
