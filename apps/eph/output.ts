import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import { safeJson } from './safe-text.ts';

/** What a text means; how that formats is decided here alone. */
export type Style = 'good' | 'busy' | 'bad' | 'faint' | 'strong';

const formats = { good: 'green', busy: 'yellow', bad: 'red', faint: 'dim', strong: 'bold' } as const satisfies Record<
  Style,
  unknown
>;

/** Standard output or standard error, or what stands in for them. */
export type TextStream = Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };

export class Output {
  readonly isTerminal: boolean;
  readonly #stream: TextStream;
  readonly #coloured: boolean;

  constructor(stream: TextStream, variables: Readonly<Record<string, string | undefined>>) {
    this.#stream = stream;
    this.isTerminal = stream.isTTY === true;
    this.#coloured = this.isTerminal && (variables['NO_COLOR'] ?? '') === '' && variables['TERM'] !== 'dumb';
  }

  /** Undefined when nobody formats: then nothing is cut to fit. */
  get columns(): number | undefined {
    return this.isTerminal ? this.#stream.columns : undefined;
  }

  get rows(): number | undefined {
    return this.isTerminal ? this.#stream.rows : undefined;
  }

  paint(style: Style, text: string): string {
    return this.#coloured ? styleText(formats[style], text, { validateStream: false }) : text;
  }

  /** Waits for a slow reader, so that a flood of log lines does not gather in memory. */
  async write(text: string): Promise<void> {
    if (!this.#stream.write(text)) await once(this.#stream, 'drain');
  }

  async lines(lines: readonly string[]): Promise<void> {
    if (lines.length > 0) await this.write(`${lines.join('\n')}\n`);
  }

  async json(value: unknown): Promise<void> {
    await this.write(`${safeJson(value, 2)}\n`);
  }

  async jsonLine(value: unknown): Promise<void> {
    await this.write(`${safeJson(value)}\n`);
  }
}
