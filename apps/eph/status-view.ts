import type { EnvironmentDetailView, EnvironmentView, Health, Phase } from '@eph/contract';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import { formatAge, formatBytes, formatCpu, shortCommit } from './figures.ts';
import type { Output, Style } from './output.ts';
import { safeLine } from './safe-text.ts';
import { type Cell, renderTable, right, shrinking } from './table.ts';

/** Environments as text. */

type ComponentView = EnvironmentView['components'][number];
type ComponentDetail = EnvironmentDetailView['components'][number];

const phaseStyles: Readonly<Record<Phase, Style>> = {
  Pending: 'busy',
  Progressing: 'busy',
  Ready: 'good',
  Degraded: 'busy',
  Failed: 'bad',
  Removing: 'faint',
  Held: 'busy',
};

const healthStyles: Readonly<Record<Health, Style>> = { starting: 'busy', ready: 'good', failing: 'bad' };

export const phaseCell = (phase: Phase): Cell => ({ text: phase, style: phaseStyles[phase] });

/** What `eph status <environment>` ends with, so that a script can wait and knows when to stop waiting. */
export const exitCodeOf = ({ phase, conditions }: EnvironmentView): ExitCode => {
  if (phase === 'Ready') return exitCodes.ok;
  const stalled = conditions.some(({ type, status }) => type === 'Stalled' && status === 'True');
  return phase === 'Failed' || stalled ? exitCodes.stalled : exitCodes.notReady;
};

/** One environment, everything known about it. */
export const renderEnvironment = (out: Output, environment: EnvironmentDetailView, now: number): string[] => {
  const { name, phase, summary, components, conditions } = environment;
  const lines = [`${out.paint('strong', safeLine(name))}  ${out.paint(phaseStyles[phase], phase)}`];
  if (summary !== '') lines.push(safeLine(summary));
  lines.push('', ...renderFacts(out, environment, now));
  if (components.length > 0) lines.push('', ...renderComponents(out, components, now));
  if (conditions.length > 0) lines.push('', ...renderConditions(out, conditions, now));
  return lines;
};

const renderFacts = (out: Output, environment: EnvironmentView, now: number): string[] => {
  const { url, alias, project, source, commit, createdAt, id } = environment;
  const facts: readonly (readonly [string, string])[] = [
    ['address', url],
    ['alias', alias ?? ''],
    ['project', project],
    ['source', `${source.kind} ${source.name}`],
    ['commit', commit ?? 'none: the source is gone'],
    ['age', formatAge(createdAt, now)],
    ['id', id],
  ];
  return facts
    .filter(([, value]) => value !== '')
    .map(([noun, value]) => `${out.paint('faint', noun.padEnd(7))}  ${safeLine(value)}`);
};

const figureColumns = ['RESTARTS', 'CPU', 'MEMORY'].map(right);
const versionColumns = ['COMPONENT', 'PROVIDER', 'HEALTH', right('FOR'), 'COMMIT'];

const renderComponents = (out: Output, components: readonly ComponentDetail[], now: number): string[] => {
  const hasImages = components.some(({ current, next }) => (current?.images ?? next?.images) !== undefined);
  return renderTable(
    out,
    [...versionColumns, ...(hasImages ? [shrinking('IMAGE')] : []), ...figureColumns, shrinking('NOTE')],
    components.flatMap((component) =>
      versionsOf(component).map(({ label, version, note }, row) => [
        label,
        component.provider,
        healthCell(version?.health),
        formatAge(version?.since ?? null, now),
        shortCommit(version?.commit),
        ...(hasImages ? [describeImages(version)] : []),
        ...(row === 0 ? figureCells(component) : ['', '', '']),
        note || (component.next === null ? describeParts(component) : ''),
      ]),
    ),
  );
};

/** The tag that people know, or else the digest. */
const describeImages = (version: VersionRow['version']): string =>
  Object.entries(version?.images ?? {})
    .map(([name, { reference, tag, fallback }]) => {
      const shown = tag === null ? reference.split('@')[1]?.slice(0, 'sha256:'.length + 12) : tag;
      return `${name === tag || name.endsWith(`:${tag}`) ? name : `${name} ${shown}`}${fallback === true ? ' (fall-back)' : ''}`;
    })
    .join(', ');

interface VersionRow {
  readonly label: string;
  readonly version: NonNullable<ComponentView['current']> | null;
  readonly note: string;
}

/** While a new version is on its way, a component is two lines: the one with the traffic, and the one that will take over. */
const versionsOf = ({ name, current, next, retiring }: ComponentView): readonly VersionRow[] => {
  const rows: VersionRow[] = [];
  const note = [current?.message, retiring ? 'an older version is on its way out' : ''].filter(Boolean).join('; ');
  if (current !== null || next === null) rows.push({ label: name, version: current, note });
  if (next !== null) rows.push({ label: `${name} (next)`, version: next, note: next.message });
  return rows;
};

const healthCell = (health: Health | undefined): Cell =>
  health === undefined ? 'absent' : { text: health, style: healthStyles[health] };

/** What is said of what runs for it, such as why it last ended. */
const describeParts = ({ parts }: ComponentDetail): string =>
  parts
    .map(({ message }) => message)
    .filter(Boolean)
    .join('; ');

/** Of all versions together. */
const figureCells = ({ parts, usage }: ComponentDetail): readonly Cell[] => [
  parts.length === 0 ? '' : String(parts.reduce((sum, { restarts }) => sum + restarts, 0)),
  ...(usage === null ? ['', ''] : [formatCpu(usage), formatBytes(usage.memoryBytes)]),
];

const conditionColumns = ['CONDITION', 'STATUS', right('FOR'), 'REASON', shrinking('MESSAGE')];

const renderConditions = (out: Output, conditions: EnvironmentView['conditions'], now: number): string[] =>
  renderTable(
    out,
    conditionColumns,
    conditions.map(({ type, status, reason, message, lastTransitionTime }) => [
      type,
      status,
      formatAge(lastTransitionTime, now),
      reason,
      message,
    ]),
  );

const overviewColumns = ['ENVIRONMENT', 'STATE', 'COMMIT', shrinking('NOTE')];

/** All environments with their components. */
export const renderOverview = (out: Output, environments: readonly EnvironmentView[]): string[] =>
  renderTable(
    out,
    overviewColumns,
    environments.flatMap((environment) => [
      [environment.name, phaseCell(environment.phase), shortCommit(environment.commit), environment.summary],
      ...environment.components.flatMap((component) =>
        versionsOf(component).map(({ label, version, note }) => [
          `  ${label}`,
          healthCell(version?.health),
          shortCommit(version?.commit),
          note,
        ]),
      ),
    ]),
  );

/** One line per thing that can change, under a key that stays. What moves all the time, such as CPU seconds, is left out. */
export const describeStates = (environments: readonly EnvironmentView[]): ReadonlyMap<string, string> => {
  const states = new Map<string, string>();
  for (const { name, phase, summary, components } of environments) {
    states.set(name, [phase, summary].join('  '));
    for (const component of components)
      for (const { label, version, note } of versionsOf(component))
        states.set(
          `${name}/${label}`,
          [version?.health ?? 'absent', shortCommit(version?.commit), note].filter(Boolean).join('  '),
        );
  }
  return states;
};

export const noEnvironments =
  'There are no environments. Push a branch `preview/…` to a project that ephd watches, and one appears.';
