import type { LogLine } from '@eph/kube/pod-log';

export interface PartLine {
  readonly part: string;
  readonly line: LogLine;
}

/** However many lines are asked for. */
const limitBytes = 16 * 1024 * 1024;
/** What a line takes beside its text. */
const lineBytes = 200;

/** The last lines of logs by time, as many as are asked for and as the memory for them allows. */
export class LatestLines {
  readonly #count: number;
  #lines: PartLine[] = [];
  /** Before it, lines are dropped already. */
  #from = 0;
  #bytes = 0;

  constructor(count: number) {
    this.#count = count;
  }

  /** Oldest first. */
  get all(): readonly PartLine[] {
    return this.#lines.slice(this.#from);
  }

  /** After all that are here. */
  add(line: PartLine): void {
    this.#lines.push(line);
    this.#bytes += sizeOf(line);
    while (this.#lines.length - this.#from > this.#count || this.#bytes > limitBytes) {
      const oldest = this.#lines[this.#from];
      if (oldest === undefined) return;
      this.#bytes -= sizeOf(oldest);
      this.#from += 1;
    }
    if (this.#from < 1_000 || this.#from < this.#lines.length / 2) return;
    this.#lines = this.#lines.slice(this.#from);
    this.#from = 0;
  }

  /** Lines of one log keep their order, also where they do not say when they were written. */
  merge(other: LatestLines): void {
    const [ours, theirs] = [this.all, other.all];
    this.#lines = [];
    this.#from = 0;
    this.#bytes = 0;
    let [one, two] = [0, 0];
    for (;;) {
      const [first, second] = [ours[one], theirs[two]];
      if (first === undefined && second === undefined) return;
      if (second === undefined || (first !== undefined && first.line.stamp <= second.line.stamp)) {
        if (first !== undefined) this.add(first);
        one += 1;
      } else {
        this.add(second);
        two += 1;
      }
    }
  }
}

const sizeOf = ({ line }: PartLine): number => line.text.length * 2 + lineBytes;
