import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import { safeJson } from './safe-text.ts';

export type Style = 'good' | 'busy' | 'bad' | 'faint' | 'strong';

const formats = { good: 'green', busy: 'yellow', bad: 'red', faint: 'dim', strong: 'bold' } satisfies Record<
  Style,
  Parameters<typeof styleText>[0]
>;

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

  /** Undefined without a terminal: then nothing is cut to fit. */
  get columns(): number | undefined {
    return this.isTerminal ? this.#stream.columns : undefined;
  }

  get rows(): number | undefined {
    return this.isTerminal ? this.#stream.rows : undefined;
  }

  paint(style: Style, text: string): string {
    return this.#coloured ? styleText(formats[style], text, { validateStream: false }) : text;
  }

  /** Waits for a slow reader, so that log lines do not pile up in memory. */
  async write(text: string | Uint8Array): Promise<void> {
    if (!this.#stream.write(text)) await once(this.#stream, 'drain');
  }

  /** The size of the terminal has changed. */
  onResize(listener: () => void): Disposable {
    this.#stream.on('resize', listener);
    return { [Symbol.dispose]: () => void this.#stream.off('resize', listener) };
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
