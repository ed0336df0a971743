import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import type { WebhookDelivery } from '../emulation/webhook-delivery.ts';
import { hookShapes } from './shapes/hook-shapes.ts';
import type { Announcement, Hook, Project } from './state/entities.ts';
import type { GitlabState } from './state/state.ts';
import { mergePayload, notePayload, type PushedCommit, pushPayload } from './views/hook-payloads.ts';

const noCommit = '0'.repeat(40);

/** Sends events to the webhooks of a project, in order. */
export class HookSender {
  readonly #state: GitlabState;
  readonly #delivery: WebhookDelivery;
  readonly #mistakes: string[];
  #last: Promise<void> = Promise.resolve();

  constructor(state: GitlabState, delivery: WebhookDelivery, mistakes: string[]) {
    this.#state = state;
    this.#delivery = delivery;
    this.#mistakes = mistakes;
  }

  announce(happened: Announcement): void {
    const hooks = [...projectOf(happened).hooks];
    if (hooks.length === 0 || !isAnnounced(happened)) return;
    // Rendered immediately, with the current state; only the files of pushed commits, which never change, are read later.
    const described = this.#describe(happened);
    this.#last = this.#last.then(async () => {
      const { event, payload } = await described;
      for (const hook of hooks) this.#send(hook, event, payload);
    });
  }

  async settled(): Promise<void> {
    await this.#last;
    await this.#delivery.settled();
  }

  async #describe(happened: Announcement): Promise<{ readonly event: string; readonly payload: unknown }> {
    switch (happened.kind) {
      case 'merge_request':
        return { event: 'Merge Request Hook', payload: this.#checked(hookShapes.merge, mergePayload(this.#state, happened)) };
      case 'note':
        return { event: 'Note Hook', payload: this.#checked(hookShapes.note, notePayload(this.#state, happened)) };
      case 'push': {
        if (happened.ref.startsWith('refs/tags/')) {
          return { event: 'Tag Push Hook', payload: this.#checked(hookShapes.tagPush, pushPayload(this.#state, happened, [])) };
        }
        const payload = pushPayload(this.#state, happened, await this.#pushedCommits(happened));
        return { event: 'Push Hook', payload: this.#checked(hookShapes.push, payload) };
      }
    }
  }

  #checked(shape: z.ZodType, payload: unknown): unknown {
    const result = shape.safeParse(payload);
    if (!result.success) this.#mistakes.push(`a webhook differs from its documented shape: ${result.error.message}`);
    return payload;
  }

  async #pushedCommits({ project, before, after }: Extract<Announcement, { kind: 'push' }>): Promise<readonly PushedCommit[]> {
    const { repository } = project;
    if (repository === undefined || after === noCommit || before === noCommit) return [];
    const shas = (await repository.commitsBetween(before, after)).toReversed();
    const commits = await repository.readCommits(shas);
    return Promise.all(
      commits.map(async (commit) => {
        const parent = commit.parents[0];
        const files = parent === undefined ? [] : await repository.changedFiles(parent, commit.sha);
        const paths = (...statuses: readonly string[]): readonly string[] =>
          files.filter(({ status }) => statuses.includes(status)).map(({ newPath }) => newPath);
        return { commit, added: paths('A'), modified: paths('M', 'R', 'T'), removed: paths('D') };
      }),
    );
  }

  #send(hook: Hook, event: string, payload: unknown): void {
    // https://docs.gitlab.com/user/project/integrations/webhooks/#delivery-headers
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'GitLab/18.5.0',
      'x-gitlab-event': event,
      'x-gitlab-instance': this.#state.url,
      'x-gitlab-webhook-uuid': randomUUID(),
      'x-gitlab-event-uuid': randomUUID(),
      'idempotency-key': randomUUID(),
      ...(hook.token === undefined ? {} : { 'x-gitlab-token': hook.token }),
    };
    this.#delivery.send({ url: hook.url, headers, body: JSON.stringify(payload) });
  }
}

const projectOf = (happened: Announcement): Project => {
  if (happened.kind === 'push') return happened.project;
  return happened.kind === 'note' ? happened.note.mergeRequest.target : happened.merge.target;
};

/** Internal notes go only to hooks for confidential notes, which the emulator does not support. */
const isAnnounced = (happened: Announcement): boolean =>
  happened.kind !== 'note' || !(happened.note.internal || happened.note.system);
