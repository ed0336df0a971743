import { EphError } from '@eph/contract';
import { invalidAnswer, toError, unwrap } from '../forge-http/answer.ts';
import { listOf, parseNothing, parserOf } from '../forge-http/forge-http.ts';
import { createKeyedQueue } from '../forge-http/keyed-queue.ts';
import type { Labels } from '../forge-http/numbered-pulls.ts';
import type { GiteaClient } from './gitea-client.ts';
import { readTimeline } from './pull-events.ts';
import { readPull } from './repository.ts';
import { labelShape, type PullShape } from './shapes.ts';

const labelList = listOf('labels', labelShape);
const parseLabel = parserOf(labelShape);

/** The body of the event of an added label; that of a removed one is empty. */
const addedBody = '1';
const color = '#0e8a7d';

export const createLabels = (client: GiteaClient): Labels => {
  const enqueue = createKeyedQueue();

  /** Gitea allows several labels with one name, so they are created one after the other. */
  const serialize = <T>(work: () => Promise<T>): Promise<T> => enqueue('labels', work);

  const idsOf = ({ labels }: PullShape, label: string): readonly number[] =>
    (labels ?? []).filter(({ name }) => name === label).map(({ id }) => id);

  const attach = async (number: number, label: string | number, signal: AbortSignal): Promise<readonly string[]> => {
    const answer = await client.send('POST', `/issues/${number}/labels`, { labels: [label] }, labelList.parse, signal);
    return unwrap(answer).map(({ name }) => name);
  };

  const createAndAttach = async (number: number, label: string, signal: AbortSignal): Promise<void> => {
    // A previous call may have created the label.
    if ((await attach(number, label, signal)).includes(label)) return;
    const { id } = unwrap(await client.send('POST', '/labels', { name: label, color }, parseLabel, signal));
    if (!(await attach(number, id, signal)).includes(label))
      throw new EphError('forge.refused', `${client.shown} does not accept the label ${JSON.stringify(label.slice(0, 100))}.`);
  };

  return {
    async labelledAt(number, label, signal) {
      const pull = unwrap(await readPull(client, number, signal));
      if (idsOf(pull, label).length === 0) return undefined;
      const timeline = await readTimeline(client, pull, signal);
      if (!timeline.complete) throw toError(timeline.refusal);
      const added = timeline.items.findLast(
        (event) => event.type === 'label' && event.label?.name === label && event.body === addedBody,
      );
      // A present label was added at some time: without an event, the timeline is incomplete.
      if (added === undefined)
        throw toError(invalidAnswer(`${client.shown} does not list when the label was added to pull request ${number}.`));
      return added.created_at;
    },

    async add(number, label, signal) {
      if (idsOf(unwrap(await readPull(client, number, signal)), label).length > 0) return;
      // Gitea silently ignores unknown labels.
      if (!(await attach(number, label, signal)).includes(label)) await serialize(() => createAndAttach(number, label, signal));
    },

    async remove(number, label, signal) {
      for (const id of idsOf(unwrap(await readPull(client, number, signal)), label)) {
        const answer = await client.send('DELETE', `/issues/${number}/labels/${id}`, undefined, parseNothing, signal);
        if (!answer.ok && answer.meaning !== 'gone') throw toError(answer);
      }
    },
  };
};
