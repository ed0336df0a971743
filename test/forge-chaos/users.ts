import type { Random } from '../simulate/random.ts';
import type { ForgeChaosHarness } from './forge-chaos-harness.ts';
import type { ForgeFixture } from './forge-fixture.ts';
import { command, triggerKinds } from './triggers.ts';
import type { Verifier } from './verifier.ts';

interface UserAction {
  readonly what: string;
  /** Relative to the other actions. */
  readonly weight: number;
  /** The pull requests it applies to; of the closed ones only the most recent. */
  readonly to: 'open' | 'closed';
  readonly perform: (number: number) => Promise<void> | void;
}

const [fewestOpen, mostOpen] = [4, 14];
const remembered = 8;

/** Performs random actions of users on the repository. */
export class Users {
  /**
   * Pull requests whose finished report a user deleted, with the life of their environment. A report that Eph is still writing may
   * reappear, and so does one about an environment that comes back.
   */
  readonly deletedReports = new Map<number, number>();
  readonly #reports: Pick<ForgeChaosHarness, 'isDelivered' | 'lifeOf'>;
  readonly #fixture: ForgeFixture;
  readonly #verifier: Verifier;
  readonly #random: Random;
  readonly #actions: readonly UserAction[];

  constructor(
    fixture: ForgeFixture,
    verifier: Verifier,
    random: Random,
    reports: Pick<ForgeChaosHarness, 'isDelivered' | 'lifeOf'>,
  ) {
    this.#reports = reports;
    this.#fixture = fixture;
    this.#verifier = verifier;
    this.#random = random;
    this.#actions = [
      { what: 'label', weight: 16, to: 'open', perform: (number) => fixture.label(number) },
      { what: 'unlabel', weight: 10, to: 'open', perform: (number) => fixture.unlabel(number) },
      { what: 'push to', weight: 12, to: 'open', perform: (number) => fixture.push(number, random.pick(triggerKinds)) },
      { what: 'close', weight: 9, to: 'open', perform: (number) => fixture.close(number) },
      { what: 'reopen', weight: 8, to: 'closed', perform: (number) => fixture.reopen(number) },
      {
        what: 'convert',
        weight: 12,
        to: 'open',
        perform: (number) => fixture.setDraft(number, !fixture.pullState(number).isDraft),
      },
      { what: 'command', weight: 14, to: 'open', perform: (number) => this.#command(number) },
      { what: 'command as a non-member', weight: 4, to: 'open', perform: (one) => fixture.comment(one, command, 'non-member') },
      { what: 'comment on', weight: 4, to: 'open', perform: (number) => fixture.comment(number, 'Looks good.', 'member') },
      { what: 'delete the report of', weight: 1, to: 'open', perform: (number) => this.#deleteReport(number) },
      { what: 'think about', weight: 10, to: 'open', perform: () => undefined },
      ...(fixture.pressStop === undefined
        ? []
        : [{ what: 'stop', weight: 6, to: 'open' as const, perform: this.#stop.bind(this) }]),
    ];
  }

  /** Performs one action and returns its description. */
  async act(): Promise<string> {
    const count = this.#those('open').length;
    const isOpening = count < fewestOpen || (count < mostOpen && this.#random.chance(0.12));
    return isOpening ? await this.#open() : await this.#perform(this.#draw());
  }

  async closeAll(): Promise<void> {
    for (const number of this.#those('open')) await this.#do(number, () => this.#fixture.close(number));
  }

  #those(to: UserAction['to']): readonly number[] {
    return this.#verifier.pulls.filter((number) => this.#fixture.pullState(number).isOpen === (to === 'open'));
  }

  #draw(): UserAction | undefined {
    let lot = this.#random.below(this.#actions.reduce((sum, { weight }) => sum + weight, 0));
    return this.#actions.find(({ weight }) => {
      lot -= weight;
      return lot < 0;
    });
  }

  async #open(): Promise<string> {
    const done = this.#verifier.beginAction('all');
    const number = await this.#fixture.open(`change-${this.#verifier.pulls.length + 1}`, this.#random.pick(triggerKinds));
    this.#verifier.opened(number);
    done();
    return `open ${number}`;
  }

  async #perform(action: UserAction | undefined): Promise<string> {
    const those = this.#those(action?.to ?? 'open');
    const number = this.#random.pick(action?.to === 'closed' ? those.slice(-remembered) : those);
    if (action === undefined || number === undefined) return 'nothing';
    await this.#do(number, () => action.perform(number));
    return `${action.what} ${number}`;
  }

  async #do(number: number, perform: () => Promise<void> | void): Promise<void> {
    const done = this.#verifier.beginAction(number);
    await perform();
    this.#verifier.actionDone(number);
    done();
  }

  async #command(number: number): Promise<void> {
    await this.#fixture.comment(number, command, 'member');
    this.#verifier.commanded(number);
  }

  #stop(number: number): void {
    if (this.#fixture.pressStop?.(number) === true) this.#verifier.stopped(number);
  }

  async #deleteReport(number: number): Promise<void> {
    const [report] = await this.#fixture.reports(number);
    if (report === undefined || !this.#reports.isDelivered(report.body)) return;
    await this.#fixture.deleteComment(number, report.id);
    this.deletedReports.set(number, this.#reports.lifeOf(number));
  }
}
