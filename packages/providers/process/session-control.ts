import type { Socket } from 'node:net';

/** Reports are shorter. More can only come from a service that took over a process of the session. */
const longestReports = 4_096;

/** The near end of the pipe that `Entered` describes. */
export class SessionControl {
  readonly #pipe: Socket;
  readonly #ready = Promise.withResolvers<true>();
  #terminal: string | undefined;
  /** Not sent yet. */
  #size: string | undefined;

  constructor(pipe: Socket) {
    this.#pipe = pipe;
    let [rest, length] = ['', 0];
    pipe.setEncoding('latin1').on('data', (chunk: string) => {
      length += chunk.length;
      if (length > longestReports) return void pipe.destroy();
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.#read(line);
    });
    pipe.on('drain', () => this.#sendSize());
  }

  /** The command could run. */
  get ready(): Promise<true> {
    return this.#ready.promise;
  }

  begin(): void {
    this.#pipe.write('go\n');
  }

  resize(columns: number, rows: number): void {
    this.#size = `${rows} ${columns}`;
    this.#sendSize();
  }

  #read(line: string): void {
    if (line === '') this.#ready.resolve(true);
    if (!/^\/dev\/pts\/\d+$/.test(line)) return;
    this.#terminal = line;
    this.#sendSize();
  }

  /** Sizes that come faster than they are taken replace each other. */
  #sendSize(): void {
    if (this.#terminal === undefined || this.#size === undefined || this.#pipe.writableNeedDrain) return;
    this.#pipe.write(`${this.#terminal} ${this.#size}\n`);
    this.#size = undefined;
  }
}
