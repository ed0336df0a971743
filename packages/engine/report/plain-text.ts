import type { ReportView } from '@eph/contract';

/** For forges that show plain text only. Without times, so that nothing is rewritten while nothing happens. */
export const composeText = ({ name, url, phase, summary, components, restoreHint }: ReportView): string => {
  if (phase === 'Removed') return `${name}: removed. ${restoreHint}`;
  const lines = [`${name}: ${phase}`];
  if (phase === 'Ready' || phase === 'Degraded') lines.push(url);
  if (summary !== '') lines.push(summary);
  for (const component of components) lines.push(`  ${component.name}: ${component.health} at ${component.commit.slice(0, 12)}`);
  return lines.join('\n');
};
