import { EphError } from '@eph/contract';
import { fieldAt, listAt, numberAt, textAt } from './fields.ts';
import type { Verb } from './observer.ts';

/** What was asked for, in words. */
export interface Asked {
  readonly cluster: string;
  readonly verb: Verb;
  readonly kind: string;
  /** The object or the kind, such as `Deployment shop/web`. */
  readonly shown: string;
  readonly name?: string | undefined;
}

export interface Unsuccessful {
  readonly status: number;
  /** What was sent with it, parsed; undefined where it is not JSON. */
  readonly body: unknown;
  readonly retryAfterMs?: number | undefined;
}

/** Of a message of the API server; it may quote whole objects. */
const messageLimit = 500;

/**
 * The object does not exist. Only the API server's own words count: a 404 of a proxy, of a kind that is not served (any more) or
 * of a namespace says nothing about the object.
 */
export const isAbsent = ({ name, kind }: Asked, { status, body }: Unsuccessful): boolean =>
  status === 404 &&
  name !== undefined &&
  textAt(body, 'kind') === 'Status' &&
  textAt(body, 'reason') === 'NotFound' &&
  textAt(body, 'details', 'name') === name &&
  (kind === 'Namespace' || textAt(body, 'details', 'kind') !== 'namespaces');

/** What an unsuccessful answer means, and who can do what about it. */
export const toRefusal = (asked: Asked, answer: Unsuccessful): EphError => {
  const { cluster, shown } = asked;
  const { status, body } = answer;
  const said = quote(asked, body);
  if (isFull(answer))
    return new EphError(
      'cluster.unreachable',
      `Cluster ${cluster} is full: its etcd stores no more. An operator must make room.`,
    );
  switch (status) {
    case 401:
      return new EphError(
        'cluster.refused',
        `Cluster ${cluster} does not accept the credentials of ephd. An operator must renew what its kubeconfig says.`,
      );
    case 403:
      return toForbidden(asked, body);
    case 404:
      return new EphError(
        'object.missing',
        `Cluster ${cluster} cannot ${describe(asked)}: the object, its namespace or its kind is not there (yet)${said}`,
      );
    case 409:
      return new EphError('object.conflict', `${shown} was changed in cluster ${cluster} at the same time${said}`);
    case 410:
      return new EphError('object.expired', `Cluster ${cluster} no longer knows the changes of ${shown} that were asked for.`);
    default:
      if (isImmutable(answer))
        return new EphError('object.immutable', `Cluster ${cluster} cannot change ${shown} in place${said}`);
      return isBusy(status) && !isMistyped(body)
        ? new EphError('cluster.unreachable', `Cluster ${cluster} could not ${describe(asked)}: status ${status}${said}`, {
            retryAfterMs: answer.retryAfterMs,
          })
        : new EphError('object.refused', `Cluster ${cluster} refuses to ${describe(asked)}: status ${status}${said}`);
  }
};

/** What the API server lets nobody change, it says only in words. */
const isImmutable = ({ status, body }: Unsuccessful): boolean =>
  status === 422 &&
  /is immutable|updates to \w+ spec for fields|updates may not change fields/.test(textAt(body, 'message') ?? '');

const isFull = ({ status, body }: Unsuccessful): boolean =>
  status >= 500 && /etcdserver: .*database space exceeded/.test(textAt(body, 'message') ?? '');

/** Of a value of another type than its field has, the API server says that it failed itself. */
const isMistyped = (body: unknown): boolean => /failed to create typed patch object/.test(textAt(body, 'message') ?? '');

/** The server could not answer now, and may be able to later. */
export const isBusy = (status: number): boolean => status === 429 || status === 408 || status >= 500 || status < 400;

const toForbidden = (asked: Asked, body: unknown): EphError => {
  const { cluster, shown } = asked;
  const said = quote(asked, body);
  const causes = listAt(body, 'details', 'causes').map((cause) => textAt(cause, 'reason'));
  if (causes.includes('NamespaceTerminating'))
    return new EphError('object.conflict', `The namespace of ${shown} in cluster ${cluster} is being removed.`);
  // Admission answers with the same status: quotas, Pod Security and policies of others.
  if (!/ cannot [a-z]+ resource /.test(textAt(body, 'message') ?? ' cannot use resource '))
    return new EphError('object.refused', `Cluster ${cluster} refuses to ${describe(asked)}${said}`);
  return new EphError(
    'cluster.refused',
    `ephd has no right to ${describe(asked)} in cluster ${cluster}. An operator must grant it${said}`,
  );
};

const describe = ({ verb, shown }: Asked): string => `${verb} ${shown}`;

/** Messages about Secrets, and values in all messages, may be secrets. */
const quote = ({ kind }: Asked, body: unknown): string => {
  const message = textAt(body, 'kind') === 'Status' ? textAt(body, 'message') : undefined;
  if (kind === 'Secret') {
    const fields = listAt(body, 'details', 'causes').flatMap((cause) => textAt(cause, 'field')?.split('[')[0] ?? []);
    return fields.length === 0 ? '.' : `: see ${[...new Set(fields)].join(', ')}.`;
  }
  if (message === undefined || message === '') return '.';
  // As Go prints it, to the end of the line.
  const clean = withoutValues(message.replace(/&?value\.value\w*\{.*$/gm, 'another value')).replace(/\s+/g, ' ');
  return `: ${clean.length > messageLimit ? `${clean.slice(0, messageLimit)}…` : clean}${/[.…]$/.test(clean) ? '' : '.'}`;
};

const marker = /Invalid value: ?/;

/** Whole objects may be quoted, as JSON or as Go prints them. */
const withoutValues = (message: string): string => {
  const found = marker.exec(message);
  if (found === null) return message;
  const rest = message.slice(found.index + found[0].length);
  return `${message.slice(0, found.index)}Invalid value${withoutValues(rest.slice(endOfValue(rest)))}`;
};

/** A text in quotes, or anything up to a colon or comma that is in no brackets. */
const endOfValue = (text: string): number => {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at] ?? '';
    if (char === '"') {
      at += (/^"(?:[^"\\]|\\.)*"/.exec(text.slice(at))?.[0].length ?? text.length - at) - 1;
      continue;
    }
    if ('{[('.includes(char)) depth += 1;
    else if ('}])'.includes(char)) depth -= 1;
    else if (depth <= 0 && (char === ':' || char === ',')) return at;
  }
  return text.length;
};

/** The API server says it in the header, and in `details` for some. */
export const retryAfterOf = (header: string | undefined, body: unknown, longestMs: number): number | undefined => {
  const seconds = /^\d{1,9}$/.test(header?.trim() ?? '') ? Number(header) : numberAt(body, 'details', 'retryAfterSeconds');
  return seconds === undefined ? undefined : Math.min(seconds * 1_000, longestMs);
};

/** An error inside a watch, which carries a status of its own. */
export const toWatchError = (asked: Asked, status: unknown): EphError =>
  toRefusal(asked, { status: numberAt(status, 'code') ?? 500, body: fieldAt({ status }, 'status') });
