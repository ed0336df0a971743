import type { RequestAnswer, RequestChange } from '@eph/contract';
import { safeLine } from './safe-text.ts';

const kinds = { branch: 'branch', tag: 'tag', pr: 'pull request' } as const;

/** What ephd did about a wish; every line is safe to show. */
export const renderAnswer = ({ source, changes, because }: RequestAnswer): readonly string[] => {
  const whose = `${kinds[source.kind]} ${source.name}`;
  const done = changes.map((change) => describeChange(change, whose));
  return [...(done.length === 0 ? ['There is nothing to change in Git.'] : done), `${because}.`].map(safeLine);
};

const describeChange = (change: RequestChange, whose: string): string => {
  switch (change.type) {
    case 'label_added':
      return `The label ${change.label} was added to ${whose}.`;
    case 'label_removed':
      return `The label ${change.label} was removed from ${whose}.`;
    case 'branch_made':
      return `The branch ${change.branch} was made at ${change.commit}.`;
    case 'branch_deleted':
      return `The branch ${change.branch} was deleted; it was at ${change.commit}.`;
  }
};
