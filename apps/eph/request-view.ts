import { describeSource, type RequestAnswer, type RequestChange } from '@eph/contract';
import { safeLine } from './safe-text.ts';

/** What ephd changed in Git. Every line is safe to print. */
export const renderAnswer = ({ source, changes, because }: RequestAnswer): readonly string[] => {
  const done = changes.map((change) => describeChange(change, describeSource(source)));
  return [...(done.length === 0 ? ['Git needs no change.'] : done), `${because}.`].map(safeLine);
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
