import { EphError } from '@eph/contract';
import { invalidAnswer, toError, unwrap } from '../forge-http/answer.ts';
import { listOf, parserOf } from '../forge-http/forge-http.ts';
import type { Labels } from '../forge-http/numbered-pulls.ts';
import type { GitlabClient } from './gitlab-client.ts';
import { labelEventShape, mergeRequestShape } from './shapes.ts';

const events = listOf('changes of labels', labelEventShape);
const parseLabelled = parserOf(mergeRequestShape.pick({ labels: true }));

export const createLabels = (client: GitlabClient): Labels => {
  const change = async (number: number, body: LabelChange, signal: AbortSignal): Promise<readonly string[]> =>
    unwrap(await client.send('PUT', `/merge_requests/${number}`, body, parseLabelled, signal)).labels;

  /** GitLab silently ignores labels that it does not accept, or not from this token. */
  const refuse = (label: string): never => {
    throw new EphError(
      'forge.refused',
      `${client.shown} does not change the label ${JSON.stringify(label.slice(0, 100))}; the token needs the role Developer.`,
    );
  };

  return {
    async labelledAt(number, label, signal) {
      const listing = await client.list(`/merge_requests/${number}/resource_label_events`, events, signal);
      if (!listing.complete) throw toError(listing.refusal);
      const last = listing.items
        .filter((event) => event.label?.name === label)
        .toSorted((a, b) => a.id - b.id)
        .at(-1);
      if (last !== undefined) return last.action === 'add' ? last.created_at : undefined;
      // A present label was added at some time: without an event, the list is incomplete.
      const { labels } = unwrap(await client.read(`/merge_requests/${number}`, parseLabelled, signal));
      if (!labels.includes(label)) return undefined;
      throw toError(invalidAnswer(`${client.shown} does not list when the label was added to merge request ${number}.`));
    },

    async add(number, label, signal) {
      if (!isOneLabel(label)) return refuse(label);
      if (!(await change(number, { add_labels: [label] }, signal)).includes(label)) refuse(label);
    },

    async remove(number, label, signal) {
      if (!isOneLabel(label)) return;
      if ((await change(number, { remove_labels: [label] }, signal)).includes(label)) refuse(label);
    },
  };
};

type LabelChange = { readonly add_labels: readonly string[] } | { readonly remove_labels: readonly string[] };

const labelLimit = 255;

/** GitLab splits the value at commas and trims the parts. */
const isOneLabel = (label: string): boolean =>
  label !== '' && label.length <= labelLimit && !label.includes(',') && label === label.trim();
