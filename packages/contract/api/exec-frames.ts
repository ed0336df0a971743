import { z } from 'zod';
import { parseJson } from '../parse-json.ts';
import { type End, endSchema } from './problem.ts';
import { whole } from './query-values.ts';

export const execQuerySchema = z.strictObject({
  component: z.string().min(1).max(63).optional().describe('Beside this component; the one that answers requests without it.'),
  command: z.array(z.string().min(1).max(10_000)).min(1).max(100).describe('The program and its arguments, one after the other.'),
  terminal: z.string().min(1).max(40).optional().describe('With a terminal of this type, such as `xterm-256color`.'),
  columns: whole(1, 1000).default(80).describe('How wide the terminal is.'),
  rows: whole(1, 1000).default(24).describe('How high the terminal is.'),
});
export type ExecQuery = z.output<typeof execQuerySchema>;

/** The protocol to ask for. Where no header can be set, `tokenProtocol` and the token is asked for as well. */
export const execProtocol = 'eph.exec.v1';
export const tokenProtocol = 'eph.token.';

/**
 * One message of an exec, which is binary: a byte that says what it is, and its content.
 * - to ephd: `input` (an empty one ends it), `resize`
 * - from ephd: `output`, `errors`, and as the last one `exit` or `failure`
 * - both ways: `taken`, how many bytes have been passed on. No side sends more than `execWindow` bytes ahead of it.
 */
export type ExecFrame =
  | { readonly type: 'input' | 'output' | 'errors'; readonly bytes: Uint8Array }
  | { readonly type: 'taken'; readonly length: number }
  | { readonly type: 'resize'; readonly columns: number; readonly rows: number }
  | { readonly type: 'exit'; readonly code: number }
  | ({ readonly type: 'failure' } & End);

const numbers = { input: 0, output: 1, errors: 2, resize: 3, exit: 4, failure: 5, taken: 6 } as const;

const contents = {
  resize: z.object({ columns: z.int().min(1).max(1000), rows: z.int().min(1).max(1000) }),
  exit: z.object({ code: z.int().min(0).max(255) }),
  failure: endSchema,
  taken: z.object({ length: z.int().min(0) }),
};

export const encodeFrame = (frame: ExecFrame): Uint8Array => {
  const { type, ...rest } = frame;
  const content = 'bytes' in frame ? frame.bytes : new TextEncoder().encode(JSON.stringify(rest));
  const message = new Uint8Array(content.length + 1);
  message[0] = numbers[type];
  message.set(content, 1);
  return message;
};

/** Undefined for what is not a frame. */
export const decodeFrame = (message: Uint8Array): ExecFrame | undefined => {
  const content = message.subarray(1);
  switch (message[0]) {
    case numbers.input:
      return { type: 'input', bytes: content };
    case numbers.output:
      return { type: 'output', bytes: content };
    case numbers.errors:
      return { type: 'errors', bytes: content };
    case numbers.resize:
      return decodeContent('resize', content);
    case numbers.exit:
      return decodeContent('exit', content);
    case numbers.failure:
      return decodeContent('failure', content);
    case numbers.taken:
      return decodeContent('taken', content);
    default:
      return undefined;
  }
};

const decodeContent = (type: keyof typeof contents, content: Uint8Array): ExecFrame | undefined => {
  const parsed = contents[type].safeParse(parseJson(new TextDecoder().decode(content)));
  return parsed.success ? ({ type, ...parsed.data } as ExecFrame) : undefined;
};
