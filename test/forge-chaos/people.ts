import type { Random } from '../simulate/random.ts';
import type { Hosting } from './hosting.ts';
import { command, wishes } from './wishes.ts';
import type { Witness } from './witness.ts';

interface Act {
  readonly what: string;
  /** How often it is done, compared with the others. */
  readonly weight: number;
  /** To one of those; of the closed ones only the last are still remembered. */
  readonly to: 'open' | 'closed';
  readonly perform: (number: number) => Promise<void> | void;
}

const [fewestOpen, mostOpen] = [4, 14];
const remembered = 8;

/** Everybody who works in the repository, and what they do next. */
export class People {
  /** Whose report somebody deleted after it was finished: one that is still being written may come again. */
  readonly silenced = new Set<number>();
  readonly #isFinished: (report: string) => boolean;
  readonly #hosting: Hosting;
  readonly #witness: Witness;
  readonly #random: Random;
  readonly #acts: readonly Act[];

  constructor(hosting: Hosting, witness: Witness, random: Random, isFinished: (report: string) => boolean) {
    this.#isFinished = isFinished;
    this.#hosting = hosting;
    this.#witness = witness;
    this.#random = random;
    this.#acts = [
      { what: 'label', weight: 16, to: 'open', perform: (number) => hosting.label(number) },
      { what: 'unlabel', weight: 10, to: 'open', perform: (number) => hosting.unlabel(number) },
      { what: 'push to', weight: 12, to: 'open', perform: (number) => hosting.push(number, random.pick(wishes)) },
      { what: 'close', weight: 9, to: 'open', perform: (number) => hosting.close(number) },
      { what: 'reopen', weight: 8, to: 'closed', perform: (number) => hosting.reopen(number) },
      { what: 'convert', weight: 12, to: 'open', perform: (number) => hosting.setDraft(number, !hosting.look(number).isDraft) },
      { what: 'command', weight: 14, to: 'open', perform: (number) => this.#command(number) },
      { what: 'command as a stranger', weight: 4, to: 'open', perform: (one) => hosting.comment(one, command, 'a stranger') },
      { what: 'comment on', weight: 4, to: 'open', perform: (number) => hosting.comment(number, 'Looks good.', 'a member') },
      { what: 'delete the report of', weight: 1, to: 'open', perform: (number) => this.#silence(number) },
      { what: 'think about', weight: 10, to: 'open', perform: () => undefined },
      ...(hosting.pressStop === undefined
        ? []
        : [{ what: 'stop', weight: 6, to: 'open' as const, perform: this.#stop.bind(this) }]),
    ];
  }

  /** Does one thing and says what. */
  async act(): Promise<string> {
    const count = this.#those('open').length;
    const isOpening = count < fewestOpen || (count < mostOpen && this.#random.chance(0.12));
    return isOpening ? await this.#open() : await this.#perform(this.#draw());
  }

  async closeAll(): Promise<void> {
    for (const number of this.#those('open')) await this.#do(number, () => this.#hosting.close(number));
  }

  #those(to: Act['to']): readonly number[] {
    return this.#witness.pulls.filter((number) => this.#hosting.look(number).isOpen === (to === 'open'));
  }

  #draw(): Act | undefined {
    let lot = this.#random.below(this.#acts.reduce((sum, { weight }) => sum + weight, 0));
    return this.#acts.find(({ weight }) => {
      lot -= weight;
      return lot < 0;
    });
  }

  async #open(): Promise<string> {
    const done = this.#witness.acting('all');
    const number = await this.#hosting.open(`change-${this.#witness.pulls.length + 1}`, this.#random.pick(wishes));
    this.#witness.opened(number);
    done();
    return `open ${number}`;
  }

  async #perform(act: Act | undefined): Promise<string> {
    const those = this.#those(act?.to ?? 'open');
    const number = this.#random.pick(act?.to === 'closed' ? those.slice(-remembered) : those);
    if (act === undefined || number === undefined) return 'nothing';
    await this.#do(number, () => act.perform(number));
    return `${act.what} ${number}`;
  }

  async #do(number: number, perform: () => Promise<void> | void): Promise<void> {
    const done = this.#witness.acting(number);
    await perform();
    this.#witness.acted(number);
    done();
  }

  async #command(number: number): Promise<void> {
    await this.#hosting.comment(number, command, 'a member');
    this.#witness.commanded(number);
  }

  #stop(number: number): void {
    if (this.#hosting.pressStop?.(number) === true) this.#witness.stopped(number);
  }

  async #silence(number: number): Promise<void> {
    const [report] = await this.#hosting.reports(number);
    if (report === undefined || !this.#isFinished(report.body)) return;
    await this.#hosting.deleteComment(number, report.id);
    this.silenced.add(number);
  }
}
