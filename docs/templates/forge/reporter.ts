import { createReportQueue } from '@eph/adapters/forge-http/report-queue';
import type { Reporter } from '@eph/engine/report/reporter';
import type { TemplateApi } from './api.ts';

/** One text per environment, on the commit it was last reported for. Read before it is written, so that nothing is remembered. */
export const createTemplateReporter = (api: TemplateApi): Reporter => {
  const { ensure } = createReportQueue(async ({ environment, commit, text }) => {
    const state = api.read();
    const written = state.statuses.find((status) => status.environment === environment);
    if (written?.commit === commit && written.text === text) return;
    const others = state.statuses.filter((status) => status !== written);
    api.write({ ...state, statuses: [...others, { environment, commit, text, edits: (written?.edits ?? 0) + 1 }] });
  });
  return { ensure };
};
