import { Readable, Writable } from 'node:stream';
import type { TextStream } from './output.ts';
import { run } from './program.ts';
import type { Prompter } from './prompter.ts';

export class FakeStream extends Writable {
  readonly isTTY: boolean;
  readonly columns: number;
  readonly rows: number;
  text = '';

  constructor({ isTTY = false, columns = 100, rows = 40 } = {}) {
    super({ decodeStrings: false });
    this.isTTY = isTTY;
    this.columns = columns;
    this.rows = rows;
  }

  override _write(chunk: string, _: BufferEncoding, done: () => void): void {
    this.text += chunk;
    done();
  }
}

export interface Session {
  readonly stdout: FakeStream;
  readonly stderr: FakeStream;
  readonly ended: Promise<number>;
  /** Ctrl-C. */
  interrupt(): void;
}

export interface SessionOptions {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  readonly variables?: Readonly<Record<string, string>>;
  readonly now?: string;
  readonly folder?: string;
  readonly stdin?: string | Uint8Array;
  /** Answers prompts on the terminal. */
  readonly prompter?: Prompter;
}

/** Runs one command line. */
export const startEph = (args: readonly string[], options: SessionOptions = {}): Session => {
  const stdout = new FakeStream(options);
  const stderr = new FakeStream(options);
  const controller = new AbortController();
  const ended = run(args, {
    version: '1.2.3',
    stdout: stdout satisfies TextStream,
    stderr,
    variables: options.variables ?? {},
    now: () => Date.parse(options.now ?? '2026-11-15T09:05:00.000Z'),
    interruption: () => controller.signal,
    stdin: () => Readable.from([Buffer.from(options.stdin ?? '')]),
    folder: () => options.folder ?? '/nowhere',
    openPrompter: async () => options.prompter,
  });
  return { stdout, stderr, ended, interrupt: () => controller.abort() };
};

export interface Result {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export const eph = async (args: readonly string[], options: SessionOptions = {}): Promise<Result> => {
  const session = startEph(args, options);
  const code = await session.ended;
  return { code, out: session.stdout.text, err: session.stderr.text };
};
