import { EphError, type ErrorCode, isEphError, parseJson } from '@eph/contract';
import type { Clock } from '@eph/engine/time/clock';
import { createDiscovery, type Discovery, type Resource, resourcePath } from './discovery.ts';
import { fieldAt, listAt, textAt } from './fields.ts';
import { type LabelSelector, printSelector } from './label-selector.ts';
import { readLines } from './lines.ts';
import { type KindName, type KubeObject, type ObjectName, parseObject, showObject } from './object.ts';
import type { KubeObserver, Verb } from './observer.ts';
import { toWatchError } from './refusal.ts';
import { AnswerTooLarge, createRestClient, type RestClient, type RestRequest } from './rest-client.ts';
import type { Transport } from './transport.ts';

export interface Selection extends KindName {
  /** Absent: in all namespaces. */
  readonly namespace?: string | undefined;
  readonly labels?: LabelSelector | undefined;
  readonly fields?: string | undefined;
  /** Only names, labels and the like are sent. */
  readonly metadataOnly?: boolean | undefined;
}

export interface Page {
  readonly objects: readonly KubeObject[];
  readonly resourceVersion: string;
  readonly next: string | undefined;
  readonly bytes: number;
}

export type WatchEvent =
  | { readonly type: 'changed'; readonly object: KubeObject }
  | { readonly type: 'gone'; readonly object: KubeObject }
  /** Everything up to here was sent. */
  | { readonly type: 'bookmark'; readonly resourceVersion: string };

export interface WatchOptions {
  readonly resourceVersion: string;
  readonly timeoutSeconds: number;
}

export interface ApplyOptions {
  readonly manager: string;
  /** Takes fields over that others manage. */
  readonly force: boolean;
  readonly subresource?: string;
  /** The server checks and computes everything, and stores nothing. */
  readonly dryRun?: boolean;
}

export interface DeleteOptions {
  readonly propagation: 'Background' | 'Foreground' | 'Orphan';
  readonly graceSeconds?: number;
  /** Only the object that has these; `object.conflict` otherwise. */
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

/**
 * The API of one cluster.
 *
 * - Only `get` and `delete` tell that an object does not exist, and only where the API server says so. Everything else that cannot be
 *   found out is an error.
 * - Answers are as the server sends them; nothing is remembered, apart from which kinds there are.
 */
export interface KubeClient {
  readonly cluster: string;
  readonly discovery: Discovery;
  get(kind: KindName, name: ObjectName, signal: AbortSignal): Promise<KubeObject | undefined>;
  /** One page. Its continuation is `object.expired` some minutes later. */
  page(selection: Selection, limit: number, next: string | undefined, signal: AbortSignal): Promise<Page>;
  /** Everything, in pages. For what is small, or asked for once; a `Reflector` keeps the rest. */
  list(selection: Selection, signal: AbortSignal): AsyncIterable<KubeObject>;
  watch(selection: Selection, options: WatchOptions, signal: AbortSignal): Promise<AsyncIterable<WatchEvent>>;
  create(object: KubeObject, signal: AbortSignal): Promise<KubeObject>;
  /** Server-side apply: what it does not name belongs to others, and what it no longer names is removed. */
  apply(object: KubeObject, options: ApplyOptions, signal: AbortSignal): Promise<KubeObject>;
  /** Replaces the object. With a resource version, only that one; `object.conflict` otherwise. */
  update(object: KubeObject, signal: AbortSignal, subresource?: string): Promise<KubeObject>;
  patch(kind: KindName, name: ObjectName, patch: ObjectPatch, signal: AbortSignal): Promise<KubeObject>;
  /** `gone` where it did not exist, or no longer does. `removing` goes on: finalizers or a grace period. */
  delete(kind: KindName, name: ObjectName, options: DeleteOptions, signal: AbortSignal): Promise<Deletion>;
  /** A path that is no object, such as those of metrics. */
  read(path: string, shown: string, signal: AbortSignal): Promise<unknown>;
  /** A text that is read as it comes, such as a log. */
  open(path: string, shown: string, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
}

export type ObjectPatch = (
  | { readonly type: 'json'; readonly operations: readonly object[] }
  | { readonly type: 'merge'; readonly fields: object }
) & {
  readonly subresource?: string;
};

export type Deletion =
  | { readonly state: 'gone'; readonly uid?: string | undefined }
  | { readonly state: 'removing'; readonly object: KubeObject };

const objectLimitBytes = 16 * 1024 * 1024;
/** Of a page of a list, of which one object may have megabytes. */
const pageLimitBytes = 32 * 1024 * 1024;
/** An object of the largest size that the API server stores, with everything in it escaped. */
const lineLimitBytes = 16 * 1024 * 1024;
const listPage = 500;

export interface KubeClientOptions {
  readonly cluster: string;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: () => number;
  readonly observer: KubeObserver;
}

export const createKubeClient = (options: KubeClientOptions): KubeClient => {
  const rest = createRestClient(options);
  const discovery = createDiscovery(rest, options.clock);
  const { cluster } = rest;

  /** A kind whose definition was removed, or came back under another path, is looked up again. */
  const withResource = async <T>(kind: KindName, signal: AbortSignal, ask: (resource: Resource) => Promise<T>): Promise<T> => {
    const resource = await discovery.find(kind, signal);
    try {
      return await ask(resource);
    } catch (error) {
      if (isCode(error, 'object.missing')) discovery.forget(kind);
      throw error;
    }
  };

  const write = async (
    verb: Verb,
    object: { readonly kind: KindName; readonly name: ObjectName },
    method: RestRequest['method'],
    path: (resource: Resource) => string,
    content: { readonly type: string; readonly body: unknown },
    signal: AbortSignal,
  ): Promise<KubeObject> => {
    const { kind, name } = object;
    const shown = showObject(kind, name);
    const answer = await withResource(kind, signal, async (resource) =>
      rest.request(
        {
          verb,
          kind: kind.kind,
          shown,
          method,
          path: path(resource),
          headers: { 'content-type': content.type, accept: 'application/json' },
          body: JSON.stringify(content.body),
          limitBytes: objectLimitBytes,
        },
        signal,
      ),
    );
    return expectObject(rest, answer, shown);
  };

  const page: KubeClient['page'] = async (selection, limit, next, signal) =>
    withResource(selection, signal, async (resource) => {
      const query = { ...selectionQuery(selection), limit: String(limit), ...(next === undefined ? {} : { continue: next }) };
      const shown = `${selection.kind}s`;
      let bytes = 0;
      const answer = await rest.request(
        {
          verb: 'list',
          kind: selection.kind,
          shown,
          method: 'GET',
          path: `${collectionPath(resource, selection)}?${new URLSearchParams(query).toString()}`,
          headers: { accept: acceptOf(selection, 'PartialObjectMetadataList') },
          limitBytes: pageLimitBytes,
          received: (count) => (bytes = count),
        },
        signal,
      );
      return readPage(rest, selection, answer, bytes);
    });

  return {
    cluster,
    discovery,

    get: (kind, name, signal) =>
      withResource(kind, signal, async (resource) => {
        const shown = showObject(kind, name);
        const path = resourcePath(resource, name);
        const asked = { verb: 'get', kind: kind.kind, shown, name: name.name, limitBytes: objectLimitBytes } as const;
        const answer = await rest.request({ ...asked, method: 'GET', path }, signal);
        return answer === undefined ? undefined : expectObject(rest, answer, shown);
      }),

    page,

    async *list(selection, signal) {
      let limit = listPage;
      let next: string | undefined;
      do {
        let found: Page;
        try {
          found = await page(selection, limit, next, signal);
        } catch (error) {
          if (!(error instanceof AnswerTooLarge) || limit === 1) throw error;
          limit = smallerPage(limit);
          continue;
        }
        yield* found.objects;
        next = found.next;
      } while (next !== undefined);
    },

    watch: (selection, { resourceVersion, timeoutSeconds }, signal) =>
      withResource(selection, signal, async (resource) => {
        const query = {
          ...selectionQuery(selection),
          watch: '1',
          allowWatchBookmarks: 'true',
          resourceVersion,
          timeoutSeconds: String(timeoutSeconds),
        };
        const path = `${collectionPath(resource, selection)}?${new URLSearchParams(query).toString()}`;
        const asked = { verb: 'watch', kind: selection.kind, shown: `${selection.kind}s` } as const;
        const headers = { accept: acceptOf(selection, 'PartialObjectMetadata') };
        const { body } = await rest.open({ ...asked, method: 'GET', path, headers }, signal);
        return readEvents(rest, selection, body);
      }),

    create: (object, signal) =>
      write('create', about(object), 'POST', (resource) => collectionPath(resource, object.metadata), json(object), signal),

    apply: (object, { manager, force, subresource, dryRun = false }, signal) => {
      const query = new URLSearchParams({ fieldManager: manager, force: String(force), ...(dryRun ? { dryRun: 'All' } : {}) });
      const path = (resource: Resource): string => `${resourcePath(resource, nameOf(object), subresource)}?${query.toString()}`;
      // JSON is YAML, which is what the type promises.
      return write('apply', about(object), 'PATCH', path, { type: 'application/apply-patch+yaml', body: object }, signal);
    },

    update: (object, signal, subresource) =>
      write(
        'update',
        about(object),
        'PUT',
        (resource) => resourcePath(resource, nameOf(object), subresource),
        json(object),
        signal,
      ),

    patch: (kind, name, patch, signal) => {
      const content =
        patch.type === 'json'
          ? { type: 'application/json-patch+json', body: patch.operations }
          : { type: 'application/merge-patch+json', body: patch.fields };
      return write(
        'patch',
        { kind, name },
        'PATCH',
        (resource) => resourcePath(resource, name, patch.subresource),
        content,
        signal,
      );
    },

    delete: (kind, name, { propagation, graceSeconds, preconditions }, signal) =>
      withResource(kind, signal, async (resource) => {
        const shown = showObject(kind, name);
        const body = JSON.stringify({
          apiVersion: 'v1',
          kind: 'DeleteOptions',
          propagationPolicy: propagation,
          gracePeriodSeconds: graceSeconds,
          preconditions,
        });
        const path = resourcePath(resource, name);
        const headers = { 'content-type': 'application/json', accept: 'application/json' };
        const asked = { verb: 'delete', kind: kind.kind, shown, name: name.name, limitBytes: objectLimitBytes } as const;
        const answer = await rest.request({ ...asked, method: 'DELETE', path, headers, body }, signal);
        if (answer === undefined) return { state: 'gone' };
        if (textAt(answer, 'kind') === 'Status') return { state: 'gone', uid: textAt(answer, 'details', 'uid') };
        const object = expectObject(rest, answer, shown);
        const { uid, deletionTimestamp } = object.metadata;
        // Of some kinds, such as Services, the answer is the object that is no longer there.
        return deletionTimestamp === undefined ? { state: 'gone', uid } : { state: 'removing', object };
      }),

    read: (path, shown, signal) =>
      rest.request({ verb: 'read', kind: 'other', shown, method: 'GET', path, limitBytes: objectLimitBytes }, signal),

    open: async (path, shown, signal) =>
      (await rest.open({ verb: 'read', kind: 'other', shown, method: 'GET', path }, signal)).body,
  };
};

/** A quarter, so that few large objects do not take many tries. */
export const smallerPage = (limit: number): number => Math.max(1, Math.floor(limit / 4));

export const isCode = (error: unknown, code: ErrorCode): boolean => isEphError(error) && error.code === code;

const about = (object: KubeObject) => ({ kind: object, name: nameOf(object) });

const nameOf = ({ metadata: { namespace, name } }: KubeObject): ObjectName =>
  namespace === undefined ? { name } : { namespace, name };

const collectionPath = (resource: Resource, { namespace }: { readonly namespace?: string | undefined }): string =>
  resourcePath(resource, namespace === undefined ? {} : { namespace });

const json = (body: unknown) => ({ type: 'application/json', body });

const acceptOf = ({ metadataOnly }: Selection, as: string): string =>
  metadataOnly === true ? `application/json;as=${as};g=meta.k8s.io;v=v1` : 'application/json';

const selectionQuery = ({ labels = {}, fields }: Selection): Record<string, string> => ({
  ...(Object.keys(labels).length === 0 ? {} : { labelSelector: printSelector(labels) }),
  ...(fields === undefined ? {} : { fieldSelector: fields }),
});

const senseless = (rest: RestClient, shown: string): EphError =>
  new EphError('cluster.unreachable', `Cluster ${rest.cluster} answers with something else than ${shown}.`);

const expectObject = (rest: RestClient, answer: unknown, shown: string): KubeObject => {
  const object = parseObject(answer);
  if (object === undefined) throw senseless(rest, shown);
  return object;
};

/** One item that makes no sense spoils the page: without it, the page would say that the object is gone. */
const readPage = (rest: RestClient, { apiVersion, kind }: KindName, answer: unknown, bytes: number): Page => {
  const resourceVersion = textAt(answer, 'metadata', 'resourceVersion');
  const items = fieldAt(answer, 'items');
  if (resourceVersion === undefined || (items !== null && !Array.isArray(items))) throw senseless(rest, `a list of ${kind}s`);
  const objects = listAt(answer, 'items').map((item) => parseObject(item, { apiVersion, kind }));
  if (!objects.every((object) => object !== undefined)) throw senseless(rest, `a list of ${kind}s`);
  const next = textAt(answer, 'metadata', 'continue');
  return { objects, resourceVersion, next: next === '' ? undefined : next, bytes };
};

async function* readEvents(
  rest: RestClient,
  kindName: KindName,
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<WatchEvent, void> {
  const tooLong = (): EphError => senseless(rest, `changes of ${kindName.kind}s`);
  for await (const line of readLines(body, lineLimitBytes, tooLong)) {
    if (line !== '') yield parseEvent(rest, kindName, line);
  }
}

const parseEvent = (rest: RestClient, { apiVersion, kind }: KindName, line: string): WatchEvent => {
  const event = parseJson(line);
  const type = textAt(event, 'type');
  const object = fieldAt(event, 'object');
  if (type === 'ERROR') throw toWatchError({ cluster: rest.cluster, verb: 'watch', kind, shown: `${kind}s` }, object);
  if (type === 'BOOKMARK') {
    const resourceVersion = textAt(object, 'metadata', 'resourceVersion');
    if (resourceVersion !== undefined) return { type: 'bookmark', resourceVersion };
  }
  const parsed = parseObject(object, { apiVersion, kind });
  if (parsed !== undefined && (type === 'ADDED' || type === 'MODIFIED')) return { type: 'changed', object: parsed };
  if (parsed !== undefined && type === 'DELETED') return { type: 'gone', object: parsed };
  throw senseless(rest, `a change of ${kind}s`);
};
