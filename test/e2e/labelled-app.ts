import { app, oneService, spec } from './sample-app.ts';
import type { Files } from './sample-repository.ts';

let versions = 0;

/** Different at every call. */
export const plainApp = (): Files => {
  versions += 1;
  return app(oneService, { 'version.txt': String(versions) });
};

/** The same, triggered by the label `preview`. */
export const labelledApp = (): Files => ({
  ...plainApp(),
  'eph.yaml': spec(oneService, { triggers: [{ type: 'pr_label', labels: ['preview'] }] }),
});

/** For servers that accept text files only. */
export const textsOf = (files: Files): Record<string, string> =>
  Object.fromEntries(Object.entries(files).filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
