import { isEphError } from '@eph/contract';
import { listAt, numberAt, textAt } from './fields.ts';
import type { KubeClient } from './kube-client.ts';
import { readLines } from './lines.ts';
import type { KubeObject } from './object.ts';
import { type PodName, podPath } from './pod-path.ts';

export interface ContainerLogOptions {
  /** At most so many lines before the end. */
  readonly tail?: number;
  readonly since?: Date;
  readonly follow?: boolean;
  /** Of the container before this one, which has ended. */
  readonly previous?: boolean;
}

export interface LogLine {
  /** In ISO 8601, or null where the line does not say. */
  readonly at: string | null;
  /** The same to the nanosecond, in a form that sorts as text; empty where the line does not say. */
  readonly stamp: string;
  readonly text: string;
}

/** Longer lines lose their end. */
const lineLimitBytes = 64 * 1024;

/** Nothing where the container has not begun, or there was none before it. */
export async function* readContainerLog(
  client: KubeClient,
  pod: PodName,
  container: string,
  { tail, since, follow = false, previous = false }: ContainerLogOptions,
  signal: AbortSignal,
): AsyncGenerator<LogLine, void> {
  const path = podPath(pod, 'log', [
    ['container', container],
    ['timestamps', true],
    ...(tail === undefined ? [] : [['tailLines', tail] as const]),
    ...(since === undefined ? [] : [['sinceTime', since.toISOString()] as const]),
    ...(follow ? [['follow', true] as const] : []),
    ...(previous ? [['previous', true] as const] : []),
  ]);
  const shown = `the log of ${container} in pod ${pod.namespace}/${pod.name}`;
  try {
    for await (const line of readLines(await client.open(path, shown, signal), lineLimitBytes, 'cut')) yield parseLogLine(line);
  } catch (error) {
    // The kubelet answers with 400 where there is no such log.
    if (isEphError(error) && error.code === 'object.refused') return;
    throw error;
  }
}

/** `2026-01-05T09:00:00.123456789Z text`. */
export const parseLogLine = (line: string): LogLine => {
  const end = line.indexOf(' ');
  const at = end === -1 ? line : line.slice(0, end);
  const [, seconds = '', fraction = '', zone = ''] = /^(\d{4}-\d\d-\d\dT[\d:]+)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/.exec(at) ?? [];
  const time = Date.parse(`${seconds}${zone}`);
  if (Number.isNaN(time)) return { at: null, stamp: '', text: line };
  const nanoseconds = fraction.padEnd(9, '0');
  return {
    at: new Date(time + Number(nanoseconds.slice(0, 3))).toISOString(),
    stamp: `${String(time / 1_000).padStart(12, '0')}.${nanoseconds}`,
    text: end === -1 ? '' : line.slice(end + 1).replace(/\r$/, ''),
  };
};

export interface LoggedContainer {
  readonly name: string;
  /** Whether there was a container before the one that runs now. */
  readonly hasPrevious: boolean;
}

/** The containers of a pod, in the order in which they begin. */
export const computeLoggedContainers = (pod: KubeObject): readonly LoggedContainer[] =>
  ['initContainers', 'containers', 'ephemeralContainers'].flatMap((list) =>
    listAt(pod, 'spec', list).flatMap((container) => {
      const name = textAt(container, 'name');
      if (name === undefined) return [];
      const statuses = listAt(pod, 'status', list.replace(/ontainers$/, 'ontainerStatuses'));
      const status = statuses.find((one) => textAt(one, 'name') === name);
      return [{ name, hasPrevious: (numberAt(status, 'restartCount') ?? 0) > 0 }];
    }),
  );
