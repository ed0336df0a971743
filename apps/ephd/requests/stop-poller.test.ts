import {
  EphError,
  type Event,
  environmentName,
  type ProjectId,
  projectId,
  type RequestChange,
  type SourceRef,
  silentLog,
} from '@eph/contract';
import { identify } from '@eph/engine/desired/identity';
import type { Reporter } from '@eph/engine/report/reporter';
import { ManualClock } from '@eph/engine/time/clock.fake';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { RemovalRequest } from './environment-requests.ts';
import { StopPoller } from './stop-poller.ts';

const pull: SourceRef = { kind: 'pr', name: '7' };

/** Projects with a stop button each. */
class StopButtons {
  readonly clock = new ManualClock();
  readonly pressed = new Set<ProjectId>();
  readonly polls: ProjectId[] = [];
  readonly takenDown: RemovalRequest[] = [];
  readonly shownAgain: ProjectId[] = [];
  active: readonly string[] = [];
  refusal: EphError | undefined;
  changes: RequestChange[] = [];
  readonly audit: Event[] = [];

  start(...names: readonly string[]): StopPoller {
    const ids = names.map(projectId);
    this.active = names;
    const poller = new StopPoller({
      projects: new Map([
        [projectId('plain'), { reporter: withoutButton }],
        ...ids.map((id) => [id, { reporter: this.#reporterOf(id) }] as const),
      ]),
      requests: {
        takeDown: async ({ project, ref }) => {
          if (this.refusal !== undefined) throw this.refusal;
          this.takenDown.push({ project, ref });
          return {
            project,
            source: ref,
            environment: '0'.repeat(16),
            commit: null,
            changes: this.changes,
            because: 'nobody asks for it',
          };
        },
      },
      activeProjects: () => new Set(this.active.map(projectId)),
      nameOf: (id) => (id === identify(shop, pull) ? environmentName('shop-serene-ocean-4207') : undefined),
      audit: { record: (event) => this.audit.push(event), now: () => this.clock.now(), auditLog: silentLog },
      clock: this.clock,
      log: silentLog,
    });
    onTestFinished(() => poller[Symbol.asyncDispose]());
    return poller;
  }

  /** Runs every poll that falls due within this time. */
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
      handleStops: async (takeDown) => {
        this.polls.push(id);
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
  it('become requests to remove what was stopped', async () => {
    const buttons = new StopButtons();
    buttons.start('shop', 'blog');
    await buttons.pass(20);
    expect(buttons.takenDown).toEqual([]);
    buttons.pressed.add(shop);
    await buttons.pass(20);
    expect(buttons.takenDown).toEqual([{ project: 'shop', ref: pull }]);
    expect([buttons.shownAgain, buttons.audit]).toEqual([[], []]);
  });

  it('that cannot be followed are shown as running again', async () => {
    const buttons = new StopButtons();
    buttons.start('shop');
    buttons.refusal = new EphError('api.conflict', 'pull request 7 wants an environment without any label');
    buttons.pressed.add(shop);
    await buttons.pass(20);
    expect(buttons.shownAgain).toEqual(['shop']);
    expect(buttons.audit).toMatchObject([
      { type: 'audit.changed', details: { how: 'forge', outcome: 'failed', reason: buttons.refusal.message } },
    ]);
  });

  it('are in the audit history once they change something, although nobody knows who pressed the button', async () => {
    const buttons = new StopButtons();
    buttons.start('shop');
    buttons.changes = [{ type: 'label_removed', label: 'preview' }];
    buttons.pressed.add(shop);
    await buttons.pass(20);
    expect(buttons.audit).toEqual([
      {
        at: expect.any(String),
        type: 'audit.changed',
        project: 'shop',
        environment: identify(shop, pull),
        message: 'somebody on the forge: DELETE /api/v1/environments/{id} for shop-serene-ocean-4207: done',
        details: {
          what: 'change',
          person: null,
          how: 'forge',
          tokenId: null,
          permission: 'environments.change',
          method: 'DELETE',
          route: '/api/v1/environments/{id}',
          name: 'shop-serene-ocean-4207',
          outcome: 'done',
          reason: null,
          requestId: null,
          address: null,
          source: 'pull request 7',
        },
      },
    ]);
  });

  it('are followed as soon as the forge answers again', async () => {
    const buttons = new StopButtons();
    buttons.start('shop');
    buttons.refusal = new EphError('forge.unreachable', 'the forge is down');
    buttons.pressed.add(shop);
    await buttons.pass(60);
    expect([buttons.takenDown, buttons.shownAgain]).toEqual([[], []]);
    buttons.refusal = undefined;
    await buttons.pass(20);
    expect(buttons.takenDown).toHaveLength(1);
  });

  it('are polled for in turn, however many projects there are, and only where environments exist', async () => {
    const buttons = new StopButtons();
    buttons.start('shop', 'blog', 'docs', 'wiki');
    await buttons.pass(42);
    expect(buttons.polls).toEqual(['shop', 'blog', 'docs', 'wiki', 'shop']);
    buttons.active = ['docs'];
    await buttons.pass(60);
    expect(buttons.polls.slice(5)).toEqual(['blog', 'docs', 'wiki', 'docs', 'docs', 'docs']);

    const many = new StopButtons();
    many.start(...Array.from({ length: 2_000 }, (_, index) => `shop-${index}`));
    await many.pass(60);
    expect(many.polls).toHaveLength(41);
  });

  it('are not polled for without a button, nor after the end', async () => {
    const none = new StopButtons();
    none.start('shop');
    none.active = ['plain'];
    await none.pass(60);
    expect(none.polls).toEqual([]);
    const buttons = new StopButtons();
    await buttons.start('shop')[Symbol.asyncDispose]();
    await buttons.pass(60);
    expect(buttons.polls).toEqual([]);
  });
});
