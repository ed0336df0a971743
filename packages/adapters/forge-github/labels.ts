import { EphError } from '@eph/contract';
import { invalidAnswer, toError, unwrap } from '../forge-http/answer.ts';
import { listOf, parseNothing, parserOf } from '../forge-http/forge-http.ts';
import type { Labels } from '../forge-http/numbered-pulls.ts';
import type { GithubClient } from './github-client.ts';
import { type EventShape, eventShape, labelledShape } from './shapes.ts';

const events = listOf('events', eventShape);
const parseLabelled = parserOf(labelledShape);

/** GitHub's labels are case-insensitive. */
const isSame = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

export const createLabels = (client: GithubClient): Labels => {
  /** The label as GitHub spells it; undefined if it is not on the pull request. */
  const find = async (number: number, label: string, signal: AbortSignal): Promise<string | undefined> => {
    const { labels } = unwrap(await client.read(`/pulls/${number}`, parseLabelled, signal));
    return labels.map(({ name }) => name).find((name) => isSame(name, label));
  };

  /** From the newest page to the oldest: the event is mostly on the newest. */
  const findLast = async (number: number, wanted: (event: EventShape) => boolean, signal: AbortSignal) => {
    const path = `/issues/${number}/events`;
    const first = unwrap(await client.readPage(path, events, 1, signal));
    for (let page = first.last ?? 1; page >= 1; page -= 1) {
      const { items } = page === 1 ? first : unwrap(await client.readPage(path, events, page, signal));
      if (page > 1 && items.length === 0) throw toError(invalidAnswer(`A page of the events of ${client.shown} is missing.`));
      const found = items.findLast(wanted);
      if (found !== undefined) return found;
    }
    return undefined;
  };

  return {
    async labelledAt(number, label, signal) {
      if ((await find(number, label, signal)) === undefined) return undefined;
      const isAbout = ({ event, label: about }: EventShape) =>
        (event === 'labeled' || event === 'unlabeled') && about !== undefined && isSame(about.name, label);
      const last = await findLast(number, isAbout, signal);
      // A present label was added at some time: without an event, the list is incomplete.
      if (last === undefined)
        throw toError(invalidAnswer(`${client.shown} does not list when the label was added to pull request ${number}.`));
      return last.event === 'labeled' ? last.created_at : undefined;
    },

    async add(number, label, signal) {
      if ((await find(number, label, signal)) !== undefined) return;
      unwrap(await client.send('POST', `/issues/${number}/labels`, { labels: [label] }, parseNothing, signal));
    },

    async remove(number, label, signal) {
      const name = await find(number, label, signal);
      if (name === undefined) return;
      // As a path segment they would address something else, which would be deleted.
      if (name === '.' || name === '..')
        throw new EphError('forge.refused', `${client.shown}: the label ${JSON.stringify(name)} can only be removed by hand.`);
      const path = `/issues/${number}/labels/${encodeURIComponent(name)}`;
      const answer = await client.send('DELETE', path, undefined, parseNothing, signal);
      if (!answer.ok && answer.meaning !== 'gone') throw toError(answer);
    },
  };
};
