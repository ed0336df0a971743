import { describeSource, type RequestAnswer, type RequestChange } from '@eph/contract';
import { formatTime } from './figures.ts';
import { safeLine } from './safe-text.ts';

/** What ephd changed in Git. Every line is safe to print. */
export const renderAnswer = ({ source, changes, because, expiresAt }: RequestAnswer): readonly string[] => {
  const done = changes.map((change) => describeChange(change, describeSource(source)));
  const end = expiresAt === undefined || expiresAt === null ? [] : [`That is at ${formatTime(expiresAt)}.`];
  return [...(done.length === 0 ? ['Git needs no change.'] : done), `${because}.`, ...end].map(safeLine);
};

const describeChange = (change: RequestChange, source: string): string => {
  switch (change.type) {
    case 'label_added':
      return `Added label ${change.label} to ${source}.`;
    case 'label_removed':
      return `Removed label ${change.label} from ${source}.`;
    case 'branch_made':
      return `Created branch ${change.branch} at ${change.commit}.`;
    case 'branch_deleted':
      return `Deleted branch ${change.branch}, which was at ${change.commit}.`;
  }
};
