import type { PlanView } from '@eph/contract';
import type { Context } from '../context.ts';
import { count } from '../figures.ts';
import type { Output, Style } from '../output.ts';
import { safeLine } from '../safe-text.ts';
import { renderTable } from '../table.ts';

type PlanEntry = PlanView['plans'][number];
type ActionType = PlanEntry['actions'][number]['type'];

const actionStyles: Readonly<Record<ActionType, Style>> = { create: 'good', update: 'busy', destroy: 'bad', wait: 'faint' };

export const plan = async ({ client, out, print }: Context): Promise<void> => {
  const answer = await client.readPlan();
  await print(answer, () => renderPlan(out, answer));
};

const renderPlan = (out: Output, { plans, faults }: PlanView): string[] => {
  const lines: string[] = [];
  for (const entry of plans.filter(({ actions }) => actions.length > 0)) lines.push(...renderEntry(out, entry), '');
  lines.push(summarize(plans));
  if (faults.length > 0) {
    lines.push('', out.paint('bad', 'Some readings are incomplete, so nothing is removed because of them:'));
    lines.push(...faults.map(({ code, message }) => `  ${safeLine(code)}: ${safeLine(message)}`));
  }
  return lines;
};

const renderEntry = (out: Output, { name, wanted, because, actions }: PlanEntry): string[] => {
  const rows = actions.map(({ type, component = '', provider = '', reason }) => [
    { text: type, style: actionStyles[type] },
    component,
    provider,
    reason,
  ]);
  const columns = ['ACTION', 'COMPONENT', 'PROVIDER', 'REASON'];
  return [
    `${out.paint('strong', safeLine(name))}  ${wanted === null ? 'undecided' : wanted ? 'wanted' : 'not wanted'}: ${safeLine(because)}`,
    ...renderTable(out, columns, rows).map((line) => `  ${line}`),
  ];
};

const summarize = (plans: readonly PlanEntry[]): string => {
  const actions = plans.flatMap((entry) => entry.actions);
  if (actions.length === 0) return 'Nothing to do: everything is as it should be.';
  const types = ['create', 'update', 'destroy', 'wait'] as const;
  const counted = types
    .map((type) => [type, actions.filter((action) => action.type === type).length] as const)
    .filter(([, number]) => number > 0)
    .map(([type, number]) => (type === 'wait' ? `${number} waiting` : `${number} to ${type}`));
  const affected = plans.filter((entry) => entry.actions.length > 0).length;
  return `The next pass: ${counted.join(', ')}, in ${count(affected, 'environment')}.`;
};
