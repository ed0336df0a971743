import type { ReportView } from '@eph/contract';
import { stripControls } from './untrusted-text.ts';

/** The status of a commit. `inactive`: the environment is being removed or gone; forges name that differently. */
export interface CommitStatus {
  readonly state: 'success' | 'pending' | 'failure' | 'inactive';
  readonly description: string;
}

/** The limit of GitHub, the lowest of all forges. */
const descriptionLimit = 140;

const states: { readonly [phase in ReportView['phase']]: CommitStatus['state'] } = {
  Pending: 'pending',
  Progressing: 'pending',
  Ready: 'success',
  // Something answers, but not this commit or not all of it. Tests that start on success must not run against it.
  Degraded: 'failure',
  Failed: 'failure',
  Removing: 'inactive',
  Held: 'inactive',
  Removed: 'inactive',
};

/** Success only while the wanted version answers. */
export const computeCommitStatus = ({ phase, summary }: ReportView): CommitStatus => {
  const words = stripControls(summary.slice(0, 4 * descriptionLimit))
    .replaceAll(/\s+/g, ' ')
    .trim();
  const letters = Array.from(words === '' ? phase : `${phase}: ${words}`);
  const isLong = letters.length > descriptionLimit;
  return {
    state: states[phase],
    description: isLong ? `${letters.slice(0, descriptionLimit - 1).join('')}…` : letters.join(''),
  };
};
