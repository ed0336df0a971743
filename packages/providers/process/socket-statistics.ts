import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { Socket } from 'node:net';
import { createInterface } from 'node:readline';

/** Prints the listening sockets for every line that it reads. */
const script = 'while read -r _; do ss -H -l -t -n -e; echo "end $?"; done';

const timeoutMs = 10_000;

/**
 * The listening sockets as `ss` prints them, which asks the kernel for those alone; the files of `/proc` take many times as long on
 * machines with much memory. A shell starts `ss`, since a start by ephd itself, with all its memory, stops everything else in it for
 * about 5 ms.
 */
export class SocketStatistics {
  #shell: ChildProcessWithoutNullStreams | undefined;
  #lines: string[] = [];
  #answer: (lines: readonly string[] | undefined) => void = () => undefined;
  #closed = false;

  /** Undefined where there is no `ss`, or if it fails. Called again only after an answer. */
  read(): Promise<readonly string[] | undefined> {
    if (this.#closed) return Promise.resolve(undefined);
    const { promise, resolve } = Promise.withResolvers<readonly string[] | undefined>();
    const timer = setTimeout(() => this.#fail(), timeoutMs);
    this.#answer = (lines) => {
      clearTimeout(timer);
      this.#lines = [];
      resolve(lines);
    };
    this.#shell ??= this.#start();
    this.#shell.stdin.write('\n');
    return promise;
  }

  close(): void {
    this.#closed = true;
    this.#fail();
  }

  #start(): ChildProcessWithoutNullStreams {
    const shell = spawn('/bin/sh', ['-c', script], { stdio: 'pipe' });
    // One that was given up ends later, when there may be another.
    const fail = (): void => (this.#shell === shell ? this.#fail() : undefined);
    shell.on('error', fail);
    shell.on('exit', fail);
    shell.stdin.on('error', fail);
    shell.stderr.resume();
    createInterface({ input: shell.stdout }).on('line', (line) => {
      if (this.#shell !== shell) return;
      const [, code] = /^end (\d+)$/.exec(line) ?? [];
      if (code === undefined) this.#lines.push(line);
      else this.#answer(code === '0' ? this.#lines : undefined);
    });
    shell.unref();
    for (const stream of [shell.stdin, shell.stdout, shell.stderr]) if (stream instanceof Socket) stream.unref();
    return shell;
  }

  /** The next reading has a new shell. */
  #fail(): void {
    this.#shell?.kill('SIGKILL');
    this.#shell = undefined;
    this.#answer(undefined);
  }
}
