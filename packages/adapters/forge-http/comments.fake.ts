import { commentMarker } from '@eph/contract';
import { computeCommitStatus } from '@eph/engine/report/commit-status';
import { renderMarkdown } from '@eph/engine/report/markdown';
import type { CommentOptions } from './report-queue.ts';

/** As ephd renders comments, without links and texts of a project. */
export const shippedComments: CommentOptions = {
  renderComment: ({ view, environment }) => renderMarkdown(view, { marker: commentMarker(environment) }),
  computeStatus: computeCommitStatus,
  comments: true,
};
