import { measureCliStart } from './cli-start.ts';
import type { Figure } from './figure.ts';
import { measureForgeDoubt } from './forge-doubt.ts';
import { measureForgeIdle } from './forge-idle.ts';
import { measureGateway } from './gateway.ts';
import { measureLabelToComment } from './label-to-comment.ts';
import { measurePass } from './pass.ts';
import { measurePushToPage } from './push-to-page.ts';
import { measureSourceLines } from './source-lines.ts';
import { measureSpecParse } from './spec-parse.ts';
import { measureThousand } from './thousand.ts';
import { measureValues } from './values.ts';
import { measureWebhookToApply } from './webhook-to-apply.ts';

const measurements: readonly { readonly title: string; measure(): readonly Figure[] | Promise<readonly Figure[]> }[] = [
  { title: 'passes over unchanged environments', measure: measurePass },
  { title: 'a thousand environments', measure: measureThousand },
  { title: 'from push to page', measure: measurePushToPage },
  { title: 'idle passes over forges', measure: measureForgeIdle },
  { title: 'a forge in doubt', measure: measureForgeDoubt },
  { title: 'from webhook to apply', measure: measureWebhookToApply },
  { title: 'from label to comment', measure: measureLabelToComment },
  { title: 'the gateway', measure: measureGateway },
  { title: 'the start of the command line', measure: measureCliStart },
  { title: 'reading eph.yaml', measure: measureSpecParse },
  { title: 'values through four layers', measure: measureValues },
  { title: 'lines of source', measure: measureSourceLines },
];

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

const json = process.argv.includes('--json');
const only = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const figures: Figure[] = [];
for (const measurement of measurements) {
  const { title } = measurement;
  if (only.length > 0 && !only.some((word) => title.includes(word))) continue;
  process.stderr.write(`measuring ${title}\n`);
  figures.push(...(await measurement.measure()));
}
if (json) process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`);
else printTable(figures);
process.exit(figures.some((figure) => figure.met === false) ? 1 : 0);
