import { type Action, type EnvironmentStatus, printMoment } from '@eph/contract';

export interface Explainable {
  readonly sourceName: string;
  readonly commit: string | undefined;
  readonly decision: 'wanted' | 'unwanted' | 'unknown';
  readonly because: string;
  readonly exists: boolean;
  readonly held: boolean;
  readonly actions: readonly Action[];
  readonly status: EnvironmentStatus | undefined;
  /** Providers that hold some of it and do not answer, each as a sentence. */
  readonly away: readonly string[];
  /** How often its repository is read, as a sentence; absent where every pass reads it. */
  readonly polling?: string | undefined;
  /** Why a provider that holds some of it has no sandbox. */
  readonly unconfined?: readonly string[];
}

const remarkTypes: readonly string[] = ['Unsupported', 'ConfigurationStale', 'Warning'];

/** Why an environment exists, waits, or is being removed: a few sentences, most important first. */
export const explain = (subject: Explainable): readonly string[] => {
  const lines: string[] = [];
  if (subject.decision === 'wanted') lines.push(`It is wanted because ${subject.because}.`);
  else if (subject.decision === 'unwanted') lines.push(`It is not wanted: ${subject.because}.`);
  else lines.push(`Whether it is wanted is unknown, so it is left as it is: ${subject.because}.`);
  if (subject.commit !== undefined) lines.push(`Git asks for commit ${subject.commit.slice(0, 12)} of ${subject.sourceName}.`);
  for (const one of subject.away) lines.push(`${one}; what it holds is left as it is.`);
  if (subject.held) lines.push('Its removal is held until an operator releases it: `eph release` lets it go.');
  for (const action of subject.actions)
    lines.push(action.type === 'wait' ? describeWait(action) : `Next: ${action.type} ${action.component}: ${action.reason}.`);
  const images = subject.status?.conditions.find(({ type }) => type === 'ImagesResolved');
  if (subject.decision === 'wanted' && images?.status === 'True') lines.push(`Images: ${shorten(images.message)}.`);
  if (subject.decision === 'wanted' && subject.exists && subject.status?.phase === 'Ready') lines.push('It is as it should be.');
  if (subject.status !== undefined && subject.status.phase !== 'Ready')
    lines.push(describePhase(subject.status, subject.actions));
  if (subject.polling !== undefined) lines.push(subject.polling);
  for (const because of subject.unconfined ?? []) lines.push(`It runs without a sandbox: ${because}.`);
  const remarks = subject.status?.conditions.filter((one) => remarkTypes.includes(one.type)) ?? [];
  for (const { message } of remarks) lines.push(`Note: ${message}.`);
  return lines;
};

const describeWait = ({ reason, until }: Action & { readonly type: 'wait' }): string => {
  const end = until === undefined ? undefined : printMoment(until);
  return end === undefined ? `It waits: ${reason}.` : `It waits until ${end}: ${reason}.`;
};

/** What it waits for may fill half a screen, and is not said twice. */
const describePhase = ({ phase, summary }: EnvironmentStatus, actions: readonly Action[]): string =>
  summary === '' || actions.some((action) => action.type === 'wait' && action.reason === summary)
    ? `It is ${phase}.`
    : `${phase}: ${summary.replace(/\.$/, '')}.`;

const mostImages = 6;

const shorten = (message: string): string => {
  const images = message.split('; ');
  const more = images.length - mostImages;
  return more <= 0 ? message : [...images.slice(0, mostImages), `and ${more} more`].join('; ');
};
