import { commentMarker } from '@eph/contract';
import { renderMarkdown } from '@eph/engine/report/markdown';
import type { Report } from '@eph/engine/report/reporter';

export const renderComment = ({ environment, view }: Report): string =>
  renderMarkdown(view, { marker: commentMarker(environment) });
