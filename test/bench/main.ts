import { parseArgs } from 'node:util';
import { measureApiList } from './api-list.ts';
import { asOrdinaryUser } from './as-ordinary-user.ts';
import { measureCliList } from './cli-list.ts';
import { measureCliStart } from './cli-start.ts';
import type { Figure } from './figure.ts';
import { measureForgeDoubt } from './forge-doubt.ts';
import { measureGithubIdle, measureGroupIdle } from './forge-idle.ts';
import { measureForgeMinute } from './forge-minute.ts';
import { measureGateway } from './gateway.ts';
import { measureColdImages, measureImageRequests, measureTagScan } from './images.ts';
import { measureKubeCache } from './kube-cache.ts';
import { measureKubeCreate } from './kube-create.ts';
import { measureKubeMany } from './kube-many.ts';
import { measureLabelToComment, measureLabelToCommentUntuned } from './label-to-comment.ts';
import { measureLogFollowers } from './log-followers.ts';
import { measurePass } from './pass.ts';
import { measurePrepare } from './prepare.ts';
import { measurePushToPage } from './push-to-page.ts';
import { measureSandboxStart } from './sandbox-start.ts';
import { hasName, listFigures, type Measurement, type Selected, selectMeasurements } from './selection.ts';
import { measureSourceLines } from './source-lines.ts';
import { measureSpecParse } from './spec-parse.ts';
import { measureThousand } from './thousand.ts';
import { measureValues, measureValuesGrowth, measureValuesUnchanged } from './values.ts';
import { measureWebhookToApply, measureWebhookToApplyInOne } from './webhook-to-apply.ts';

const measurements: readonly Measurement[] = [
  {
    title: 'passes over unchanged environments',
    figures: ['pass-10k', 'pass-growth', 'pass-one-away'],
    measure: measurePass,
  },
  { title: 'a thousand environments', figures: ['memory-per-environment', 'restart-recovery'], measure: measureThousand },
  { title: 'a thousand followers of one log', figures: ['log-followers'], measure: measureLogFollowers },
  { title: 'from push to page', figures: ['push-to-page'], measure: () => measurePushToPage('push-to-page') },
  asOrdinaryUser({
    title: 'from push to page in a sandbox, with limits',
    figures: ['push-to-page-sandbox'],
    measure: () => measurePushToPage('push-to-page-sandbox'),
  }),
  asOrdinaryUser({
    title: 'from push to page with an installation',
    figures: ['prepare-cold', 'prepare-warm'],
    measure: measurePrepare,
  }),
  asOrdinaryUser({
    title: 'the start of a service in a sandbox',
    figures: ['sandbox-start', 'sandbox-start-own-network', 'own-network-memory'],
    measure: measureSandboxStart,
  }),
  {
    title: 'idle passes over forges: GitHub',
    figures: ['forge-idle-cost', 'forge-idle-requests', 'forge-idle-memory', 'forge-idle-time'],
    measure: measureGithubIdle,
  },
  { title: 'idle passes over forges: a group of GitLab', figures: ['forge-idle-requests-group'], measure: measureGroupIdle },
  {
    title: 'a minute of many quiet repositories',
    figures: ['forge-minute', 'forge-minute-requests'],
    measure: measureForgeMinute,
  },
  {
    title: 'a forge in doubt',
    figures: ['forge-doubt', 'forge-doubt-requests', 'forge-honest-requests'],
    measure: measureForgeDoubt,
  },
  { title: 'from webhook to apply', figures: ['webhook-to-apply'], measure: measureWebhookToApply },
  {
    title: 'from webhook to apply in one repository',
    figures: ['webhook-to-apply-one-repository'],
    measure: measureWebhookToApplyInOne,
  },
  { title: 'from label to comment', figures: ['label-to-comment'], measure: measureLabelToComment },
  {
    title: 'from label to comment with the queues of Gitea as they are',
    figures: ['label-to-comment-untuned'],
    measure: measureLabelToCommentUntuned,
  },
  { title: 'passes over images', figures: ['images-idle', 'images-waiting'], measure: measureImageRequests },
  { title: 'many images at once', figures: ['images-cold', 'images-cold-labels'], measure: measureColdImages },
  { title: 'a repository with many tags', figures: ['images-tags', 'images-tags-heap'], measure: measureTagScan },
  { title: 'the cache of a cluster', figures: ['kube-cache', 'kube-cache-relist'], measure: measureKubeCache },
  { title: 'an environment in a cluster', figures: ['kube-create', 'kube-delete'], measure: measureKubeCreate },
  {
    title: 'many environments in a cluster',
    figures: ['kube-200', 'kube-writes', 'kube-idle-calls', 'kube-restart-calls'],
    measure: measureKubeMany,
  },
  { title: 'the gateway', figures: ['gateway-vs-nginx', 'gateway-vs-httpxy'], measure: measureGateway },
  { title: 'pages of environments', figures: ['api-list', 'api-list-narrow'], measure: measureApiList },
  { title: 'the start of the command line', figures: ['cli-start'], measure: measureCliStart },
  { title: 'a list by the command line', figures: ['cli-list', 'cli-list-vs-kubectl'], measure: measureCliList },
  { title: 'reading eph.yaml', figures: ['spec-parse'], measure: measureSpecParse },
  { title: 'values through four layers', figures: ['values-vs-deepmerge'], measure: measureValues },
  { title: 'values through four layers, many components', figures: ['values-growth'], measure: measureValuesGrowth },
  { title: 'values through four layers, resolved again', figures: ['values-unchanged'], measure: measureValuesUnchanged },
  { title: 'lines of source', figures: ['source-lines', 'source-lines-core', 'test-lines'], measure: measureSourceLines },
];

const help = `Measures the performance goals. Ratios are against a baseline from the same run.

  npm run bench                               measures everything
  npm run bench -- pass-growth push-to-page   measures only what these figures need, and reports only them
  npm run bench -- gateway                    measures everything under the titles that contain the word
  npm run bench -- --json [...]               prints JSON instead of a table
  npm run bench -- --help

Exit status: 0 every goal is met, 1 a goal is missed, 2 the command was not understood.

${listFigures(measurements)}`;

const printTable = (figures: readonly Figure[]): void => {
  const rows = figures.map(({ name, value, unit, goal, met, note }) => [
    name,
    value === null ? '-' : `${value} ${unit}`,
    goal ?? 'reported',
    met === null ? (note ?? '') : met ? 'met' : 'MISSED',
  ]);
  const table = [['figure', 'value', 'goal', ''], ...rows];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  for (const row of table)
    process.stdout.write(
      `${row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd()}\n`,
    );
};

/** A figure that no list names could not be asked for. */
const checkFigures = ({ title, figures }: Measurement, measured: readonly Figure[]): void => {
  const isExpected = ({ name }: Figure): boolean => figures.some((figure) => hasName(name, figure));
  const missing = figures.filter((figure) => !measured.some(({ name }) => hasName(name, figure)));
  const wrong = [...missing, ...measured.filter((figure) => !isExpected(figure)).map(({ name }) => name)];
  if (wrong.length > 0) throw new Error(`${title}: the list of figures and the measurement differ: ${wrong.join(', ')}`);
};

const measureAll = async (selected: readonly Selected[]): Promise<readonly Figure[]> => {
  const figures: Figure[] = [];
  for (const { measurement, isWanted } of selected) {
    process.stderr.write(`measuring ${measurement.title}\n`);
    const measured = await measurement.measure();
    checkFigures(measurement, measured);
    figures.push(...measured.filter(({ name }) => isWanted(name)));
  }
  return figures;
};

interface Request {
  readonly selected: readonly Selected[];
  readonly json: boolean;
}

/** Undefined if the caller asked for help. */
const parseRequest = (args: string[]): Request | undefined => {
  const options = { json: { type: 'boolean' }, help: { type: 'boolean' } } as const;
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
  if (values.help === true) return undefined;
  return { selected: selectMeasurements(measurements, positionals), json: values.json === true };
};

const main = async (): Promise<number> => {
  let asked: Request | undefined;
  try {
    asked = parseRequest(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return 2;
  }
  if (asked === undefined) {
    process.stdout.write(`${help}\n`);
    return 0;
  }
  const figures = await measureAll(asked.selected);
  if (asked.json) process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`);
  else printTable(figures);
  return figures.some((figure) => figure.met === false) ? 1 : 0;
};

process.exit(await main());
