import { completeReading, incompleteReading, type Reading } from '@eph/contract';
import type { Approval } from '@eph/engine/source/pulls';
import type { Answer } from './answer.ts';
import type { Listing } from './read-pages.ts';

export interface ApprovalInputs<Review> {
  readonly reviews: Listing<Review>;
  readonly compute: (reviews: readonly Review[]) => readonly Approval[];
  readonly readWriters: (people: readonly string[]) => Promise<Answer<ReadonlySet<string>>>;
}

/** As `Pulls.approvals`: anybody can approve, but only approvals by people with write access count. */
export const filterApprovals = async <Review>(inputs: ApprovalInputs<Review>): Promise<Reading<Approval>> => {
  const { reviews, compute, readWriters } = inputs;
  if (!reviews.complete) return incompleteReading([], reviews.refusal.fault);
  const approvals = compute(reviews.items);
  const writers = await readWriters(approvals.map(({ author }) => author));
  if (!writers.ok) return incompleteReading([], writers.fault);
  return completeReading(approvals.filter(({ author }) => writers.value.has(author)));
};
