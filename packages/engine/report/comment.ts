import type { EnvironmentStatus, ObservedEnvironment } from '@eph/contract';

export interface ReportSubject {
  readonly name: string;
  readonly url: string;
  readonly status: EnvironmentStatus | undefined;
  readonly observed: ObservedEnvironment | undefined;
}

/** What people read about an environment on the forge. Without running times, so that nothing is rewritten while nothing happens. */
export const composeReport = ({ name, url, status, observed }: ReportSubject): string => {
  if (status === undefined) return `${name}: removed. Push the branch or tag again to bring it back.`;
  const lines = [`${name}: ${status.phase}`];
  if (status.phase === 'Ready' || status.phase === 'Degraded') lines.push(url);
  if (status.summary !== '') lines.push(status.summary);
  for (const component of observed?.components ?? []) {
    const version = component.next ?? component.current;
    if (version !== null) lines.push(`  ${component.name}: ${version.health} at ${version.commit.slice(0, 12)}`);
  }
  return lines.join('\n');
};
