import { commitSha, type EnvironmentId, EphError, environmentId, type Failure, projectId } from '@eph/contract';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createView } from '../report/view.fake.ts';
import { ManualClock } from '../time/clock.fake.ts';
import { Reports } from './reports.ts';

const id = (number: number): EnvironmentId => environmentId(String(number).padStart(16, '0'));
const report = (text: string, environment = 1, commit = '1') => ({
  project: projectId('shop'),
  environment: id(environment),
  commit: commitSha(commit.repeat(40)),
  text,
  view: createView({ phase: 'Ready', summary: text }),
});
const unfinished = (text: string): Sent => ({ ...report(text), view: createView({ phase: 'Progressing', summary: text }) });
type Sent = ReturnType<typeof report>;

/** A forge that people read on, which can be slow or refuse. */
class Board {
  readonly clock = new ManualClock();
  readonly delivered: string[] = [];
  readonly failures: Failure[] = [];
  obstacle: (sent: Sent) => Promise<void> = () => Promise.resolve();
  readonly reports: Reports<Sent>;

  constructor() {
    const onFailure = (_: string, failure: Failure): void => void this.failures.push(failure);
    this.reports = new Reports<Sent>({ clock: this.clock, random: () => 0, onFailure }, async (sent) => {
      await this.obstacle(sent);
      this.delivered.push(sent.text);
    });
  }

  async pass(ms: number): Promise<void> {
    this.clock.advance(ms);
    await this.reports.idle();
  }
}

describe('a report', () => {
  it('is delivered', async () => {
    const board = new Board();
    board.reports.publish(report('starting'));
    await board.reports.idle();
    expect(board.delivered).toEqual(['starting']);
  });

  it('is delivered again only when it says something else', async () => {
    const board = new Board();
    for (const text of ['ready', 'ready', 'failed', 'failed', 'ready']) {
      board.reports.publish(report(text));
      await board.reports.idle();
    }
    expect(board.delivered).toEqual(['ready', 'failed', 'ready']);
  });

  it('is delivered again when it belongs to another commit, where nobody has read it yet', async () => {
    const board = new Board();
    for (const commit of ['1', '2', '2', '1']) {
      board.reports.publish(report('eph.yaml is empty', 1, commit));
      await board.reports.idle();
    }
    expect(board.delivered).toHaveLength(3);
  });

  it('that everybody waits for is delivered at once', async () => {
    const board = new Board();
    board.reports.publish(unfinished('starting'));
    board.reports.publish(report('ready'));
    await board.reports.idle();
    expect(board.delivered).toEqual(['ready']);
    await board.pass(1000);
    expect(board.delivered).toEqual(['ready']);
  });

  it('waits a moment for a newer one, but not longer because newer ones keep coming', async () => {
    const board = new Board();
    for (const text of ['pending', 'starting', 'degraded']) {
      board.reports.publish(unfinished(text));
      await board.pass(200);
    }
    expect(board.delivered).toEqual(['degraded']);
  });

  it('gives way to a newer one that comes before it could be delivered', async () => {
    const board = new Board();
    const gate = Promise.withResolvers<void>();
    board.obstacle = () => gate.promise;
    for (const text of ['first', 'second', 'third', 'third']) board.reports.publish(report(text));
    board.obstacle = () => Promise.resolve();
    gate.resolve();
    await board.reports.idle();
    expect(board.delivered).toEqual(['first', 'third']);
  });

  it('waits for no other environment', async () => {
    const board = new Board();
    const gate = Promise.withResolvers<void>();
    board.obstacle = (sent) => (sent.environment === id(1) ? gate.promise : Promise.resolve());
    board.reports.publish(report('slow', 1));
    board.reports.publish(report('quick', 2));
    while (board.delivered.length === 0) await Promise.resolve();
    expect(board.delivered).toEqual(['quick']);
    gate.resolve();
    await board.reports.idle();
    expect(board.delivered).toEqual(['quick', 'slow']);
  });
});

describe('a report that is refused', () => {
  it('is tried again after a second, and every refusal is known', async () => {
    const board = new Board();
    board.obstacle = () => Promise.reject(new EphError('report.failed', 'the forge is read-only'));
    board.reports.publish(report('ready'));
    await board.reports.idle();
    await board.pass(999);
    expect(board.failures).toHaveLength(1);
    await board.pass(1);
    expect(board.failures).toMatchObject([
      { code: 'report.failed' },
      { code: 'report.failed', message: 'the forge is read-only' },
    ]);
    board.obstacle = () => Promise.resolve();
    await board.pass(60_000);
    expect(board.delivered).toEqual(['ready']);
  });

  it('waits as long as the forge asks for', async () => {
    const board = new Board();
    board.obstacle = () => Promise.reject(new EphError('report.failed', 'too many requests', { retryAfterMs: 60_000 }));
    board.reports.publish(report('ready'));
    await board.reports.idle();
    await board.pass(59_999);
    expect(board.failures).toHaveLength(1);
    await board.pass(1);
    expect(board.failures).toHaveLength(2);
  });

  it('gives way to a newer one', async () => {
    const board = new Board();
    board.obstacle = () => Promise.reject(new EphError('report.failed', 'not now'));
    board.reports.publish(report('old'));
    await board.reports.idle();
    board.obstacle = () => Promise.resolve();
    board.reports.publish(report('new'));
    await board.reports.idle();
    await board.pass(60_000);
    expect(board.delivered).toEqual(['new']);
  });
});

describe('the last report of an environment', () => {
  it('is delivered, and nothing of it is remembered', async () => {
    const board = new Board();
    board.reports.publish(report('ready'));
    board.reports.conclude(report('removed'));
    await board.reports.idle();
    expect(board.delivered.at(-1)).toBe('removed');
    board.reports.publish(report('removed'));
    await board.reports.idle();
    expect(board.delivered.filter((text) => text === 'removed')).toHaveLength(2);
  });

  it('that says nothing new is forgotten all the same', async () => {
    const board = new Board();
    board.reports.publish(report('ready'));
    await board.reports.idle();
    board.reports.conclude(report('ready'));
    await board.reports.idle();
    expect(board.delivered).toEqual(['ready']);
    board.reports.publish(report('ready'));
    await board.reports.idle();
    expect(board.delivered).toEqual(['ready', 'ready']);
  });

  it('is not the last if the environment comes back', async () => {
    const board = new Board();
    board.reports.conclude(report('removed'));
    board.reports.publish(report('starting'));
    await board.reports.idle();
    board.reports.publish(report('starting'));
    await board.reports.idle();
    expect(board.delivered.filter((text) => text === 'starting')).toHaveLength(1);
  });
});

describe('whatever is published, and however often it is refused', () => {
  it('what people read in the end is the newest of each environment', async () => {
    const published = fc.record({
      environment: fc.integer({ min: 1, max: 3 }),
      text: fc.constantFrom('a', 'b', 'c'),
      refused: fc.boolean(),
      wait: fc.nat(3000),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(published, { maxLength: 20 }), async (all) => {
        const board = new Board();
        const read = new Map<EnvironmentId, string>();
        let refuse = false;
        board.obstacle = (sent) => {
          if (refuse) return Promise.reject(new EphError('report.failed', 'not now'));
          read.set(sent.environment, sent.text);
          return Promise.resolve();
        };
        for (const { environment, text, refused, wait } of all) {
          refuse = refused;
          board.reports.publish(report(text, environment));
          await board.pass(wait);
        }
        refuse = false;
        await board.pass(2_000_000);
        expect(read).toEqual(new Map(all.map(({ environment, text }) => [id(environment), text])));
      }),
    );
  });
});
