import {
  type Action,
  type CommitSha,
  type ComponentVersion,
  type EnvironmentName,
  type EnvironmentStatus,
  type Failure,
  type ObservedComponent,
  type ObservedEnvironment,
  type ReportedComponent,
  type ReportView,
  type ResolvedComponent,
  redact,
  type SourceRef,
  type Trigger,
} from '@eph/contract';
import { describeRestore } from './restore-hint.ts';
import { truncateMiddle } from './untrusted-text.ts';

export interface ReportSubject {
  readonly name: EnvironmentName;
  readonly url: string;
  readonly source: SourceRef;
  /** The wanted commit, or the last one that was wanted. */
  readonly commit: CommitSha;
  readonly status: EnvironmentStatus | undefined;
  readonly because: string;
  readonly observed: ObservedEnvironment | undefined;
  readonly actions: readonly Action[];
  readonly failures: readonly Failure[];
  /** The components as last resolved; empty if that failed. */
  readonly resolved: readonly ResolvedComponent[];
  readonly notes: readonly string[];
  readonly triggers: readonly Trigger[];
  readonly expiresAt: string | null;
}

/** Enough output to see what went wrong; views are kept in memory. */
const outputLimit = 8_000;

/** Everything a report shows, from one reconcile of the environment. */
export const composeView = (subject: ReportSubject): ReportView => {
  const { name, url, commit, status, observed } = subject;
  const base = { name, url, commit, restoreHint: describeRestore(subject.source, subject.triggers) };
  if (status === undefined) return { ...base, ...removedView, summary: quote(subject.because) };
  const components = observed?.components.flatMap((component) => toReported(component, subject.resolved)) ?? [];
  const failing = components.filter((component) => component.health === 'failing');
  return {
    ...base,
    phase: status.phase,
    summary: quote(status.summary),
    components,
    waits: computeWaits(subject.actions, new Set(failing.map((component) => component.name))),
    faults: unique([
      ...subject.failures.map((failure) => quote(failure.message)),
      ...failing.map((component) => `${component.name} is not ready: ${component.message}`),
    ]),
    notes: unique([...conditionNotes(status), ...subject.notes].map(quote)),
    createdAt: observed?.identity.createdAt ?? null,
    updatedAt: servingSince(observed),
    expiresAt: subject.expiresAt,
  };
};

const removedView = {
  phase: 'Removed',
  components: [],
  waits: [],
  faults: [],
  notes: [],
  createdAt: null,
  updatedAt: null,
  expiresAt: null,
} as const;

const toReported = (component: ObservedComponent, resolved: readonly ResolvedComponent[]): readonly ReportedComponent[] => {
  const { name, entry, current, next } = component;
  const version = next ?? current;
  if (version === null) return [];
  // A version that a newer commit does not change is that of the newer commit, too.
  const commitOf = ({ revision, commit }: ComponentVersion): CommitSha =>
    resolved.find((one) => one.name === name && one.provider === component.provider && one.revision === revision)?.commit ??
    commit;
  const serving = current?.health === 'ready' ? commitOf(current) : null;
  const { health, message } = version;
  const images = Object.values(version.images ?? {}).map(({ reference, tag }) => ({ reference, tag }));
  return [{ name, health, message: quote(message), commit: commitOf(version), serving, images, entry }];
};

/** A failing component is listed as a fault, and a draining version concerns nobody. */
const computeWaits = (actions: readonly Action[], failing: ReadonlySet<string>): ReportView['waits'] =>
  actions.flatMap((action) => {
    if (action.type !== 'wait' || action.code === 'component.draining') return [];
    if (notReady.includes(action.code) && action.component !== undefined && failing.has(action.component)) return [];
    return [{ reason: quote(action.reason), until: action.until ?? null }];
  });

const notReady: readonly string[] = ['component.not_ready', 'component.stalled'];

const noteTypes: readonly string[] = ['Unsupported', 'ConfigurationStale', 'Warning'];

const conditionNotes = ({ conditions }: EnvironmentStatus): readonly string[] =>
  conditions
    .filter(({ type, status: holds }) => noteTypes.includes(type) && holds === 'True')
    .map((condition) => condition.message);

const servingSince = (observed: ObservedEnvironment | undefined): string | null => {
  const serving = observed?.components.find(({ entry, current }) => entry && current?.health === 'ready')?.current;
  return serving?.since ?? null;
};

/** Provider messages quote program output, which may be long or contain secrets. */
const quote = (text: string): string => truncateMiddle(redact(text), outputLimit);

const unique = (texts: readonly string[]): readonly string[] => [...new Set(texts)].filter((text) => text !== '');
