import { EphError, type ProjectId, projectId, type SourceRef, silentLog } from '@eph/contract';
import { ManualClock } from '@eph/engine/loop/clock.fake';
import type { Reporter } from '@eph/engine/report/reporter';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { RemovalRequest } from './environment-requests.ts';
import { StopPoller } from './stop-poller.ts';

const pull: SourceRef = { kind: 'pr', name: '7' };

/** Projects with a stop button each, which somebody may have pressed. */
class Panel {
  readonly clock = new ManualClock();
  readonly pressed = new Set<ProjectId>();
  readonly looks: ProjectId[] = [];
  readonly takenDown: RemovalRequest[] = [];
  readonly shownAgain: ProjectId[] = [];
  living: readonly string[] = [];
  refusal: EphError | undefined;

  start(...names: readonly string[]): StopPoller {
    const ids = names.map(projectId);
    this.living = names;
    const stops = new StopPoller({
      projects: new Map([
        [projectId('plain'), { reporter: withoutButton }],
        ...ids.map((id) => [id, { reporter: this.#reporterOf(id) }] as const),
      ]),
      requests: {
        takeDown: async ({ project, ref }) => {
          if (this.refusal !== undefined) throw this.refusal;
          this.takenDown.push({ project, ref });
          return { project, source: ref, environment: '0'.repeat(16), changes: [], because: 'nobody asks for it' };
        },
      },
      living: () => new Set(this.living.map(projectId)),
      clock: this.clock,
      log: silentLog,
    });
    onTestFinished(() => stops[Symbol.asyncDispose]());
    return stops;
  }

  /** One look after another, for as long as they fall due. */
  async pass(seconds: number): Promise<void> {
    const end = this.clock.now() + seconds * 1000;
    for (let due = this.clock.nextDue(); due !== undefined && due <= end; due = this.clock.nextDue()) {
      this.clock.advance(due - this.clock.now());
      await new Promise(setImmediate);
    }
    this.clock.advance(end - this.clock.now());
  }

  #reporterOf(id: ProjectId): Reporter {
    return {
      ensure: async () => undefined,
      followStops: async (takeDown) => {
        this.looks.push(id);
        if (!this.pressed.has(id)) return;
        if (!(await takeDown(pull))) this.shownAgain.push(id);
        this.pressed.delete(id);
      },
    };
  }
}

const withoutButton: Reporter = { ensure: async () => undefined };
const shop = projectId('shop');

describe('stops', () => {
  it('become requests to take down what was stopped', async () => {
    const panel = new Panel();
    panel.start('shop', 'blog');
    await panel.pass(20);
    expect(panel.takenDown).toEqual([]);
    panel.pressed.add(shop);
    await panel.pass(20);
    expect(panel.takenDown).toEqual([{ project: 'shop', ref: pull }]);
    expect(panel.shownAgain).toEqual([]);
  });

  it('that cannot be followed are shown as what they are', async () => {
    const panel = new Panel();
    panel.start('shop');
    panel.refusal = new EphError('api.conflict', 'pull request 7 wants an environment without any label');
    panel.pressed.add(shop);
    await panel.pass(20);
    expect(panel.shownAgain).toEqual(['shop']);
  });

  it('are followed as soon as the forge answers again', async () => {
    const panel = new Panel();
    panel.start('shop');
    panel.refusal = new EphError('forge.unreachable', 'the forge is away');
    panel.pressed.add(shop);
    await panel.pass(60);
    expect([panel.takenDown, panel.shownAgain]).toEqual([[], []]);
    panel.refusal = undefined;
    await panel.pass(20);
    expect(panel.takenDown).toHaveLength(1);
  });

  it('are looked for in turn, however many projects there are, and only where environments are', async () => {
    const panel = new Panel();
    panel.start('shop', 'blog', 'docs', 'wiki');
    await panel.pass(42);
    expect(panel.looks).toEqual(['shop', 'blog', 'docs', 'wiki', 'shop']);
    panel.living = ['docs'];
    await panel.pass(60);
    expect(panel.looks.slice(5)).toEqual(['blog', 'docs', 'wiki', 'docs', 'docs', 'docs']);

    const crowd = new Panel();
    crowd.start(...Array.from({ length: 2_000 }, (_, index) => `shop-${index}`));
    await crowd.pass(60);
    expect(crowd.looks).toHaveLength(41);
  });

  it('are not looked for where there is no button, nor after the end', async () => {
    const none = new Panel();
    none.start('shop');
    none.living = ['plain'];
    await none.pass(60);
    expect(none.looks).toEqual([]);
    const panel = new Panel();
    await panel.start('shop')[Symbol.asyncDispose]();
    await panel.pass(60);
    expect(panel.looks).toEqual([]);
  });
});
