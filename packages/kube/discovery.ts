import { EphError, isEphError } from '@eph/contract';
import type { Clock } from '@eph/engine/time/clock';
import { fieldAt, listAt, textAt } from './fields.ts';
import type { KindName, ObjectName } from './object.ts';
import type { RestClient } from './rest-client.ts';

/** Where the objects of a kind are. */
export interface Resource extends KindName {
  readonly plural: string;
  readonly namespaced: boolean;
}

/** Which kinds a cluster serves. */
export interface Discovery {
  /** Throws `object.missing` where the cluster does not serve the kind (yet). */
  find(kind: KindName, signal: AbortSignal): Promise<Resource>;
  /** What was found out about a version may be outdated: the server did not know the path. */
  forget(kind: KindName): void;
}

/** Custom resources come with what defines them, a moment later. */
const askAgainMs = 5_000;
const limitBytes = 16 * 1024 * 1024;

interface Served {
  readonly kinds: ReadonlyMap<string, Resource>;
  readonly at: number;
}

export const createDiscovery = (rest: RestClient, clock: Clock): Discovery => {
  const served = new Map<string, Served>();
  const asking = new Map<string, Promise<Served>>();

  const ask = async (apiVersion: string, signal: AbortSignal): Promise<Served> => {
    const asked = { verb: 'get', kind: 'APIResourceList', shown: `the kinds of ${apiVersion}`, limitBytes } as const;
    const answer = await rest
      .request({ ...asked, method: 'GET', path: versionPath(apiVersion) }, signal)
      .catch((error: unknown) => {
        // None of its kinds is served.
        if (isEphError(error) && error.code === 'object.missing') return undefined;
        throw error;
      });
    const found = { kinds: readKinds(apiVersion, answer), at: clock.now() };
    served.set(apiVersion, found);
    return found;
  };

  /** Whoever asks for the same waits for the first. If the first gives up, the others ask themselves. */
  const askOnce = async (apiVersion: string, signal: AbortSignal): Promise<Served> => {
    const before = asking.get(apiVersion);
    const other = await before?.catch(() => undefined);
    if (other !== undefined) return other;
    const mine = ask(apiVersion, signal).finally(() => {
      if (asking.get(apiVersion) === mine) asking.delete(apiVersion);
    });
    asking.set(apiVersion, mine);
    return await mine;
  };

  return {
    async find({ apiVersion, kind }, signal) {
      const known = served.get(apiVersion);
      const isFresh = known !== undefined && Math.abs(clock.now() - known.at) < askAgainMs;
      const found = known?.kinds.get(kind) ?? (isFresh ? undefined : (await askOnce(apiVersion, signal)).kinds.get(kind));
      if (found !== undefined) return found;
      throw new EphError('object.missing', `Cluster ${rest.cluster} does not serve ${kind} of ${apiVersion}.`, {
        retryAfterMs: askAgainMs,
      });
    },
    forget({ apiVersion, kind }) {
      const known = served.get(apiVersion);
      if (known === undefined) return;
      const kinds = new Map(known.kinds);
      kinds.delete(kind);
      served.set(apiVersion, { kinds, at: known.at });
    },
  };
};

const versionPath = (apiVersion: string): string => `${apiVersion.includes('/') ? '/apis' : '/api'}/${encodePath(apiVersion)}`;

/** A version and group come from manifests of strangers. */
const encodePath = (text: string): string => {
  const parts = text.split('/');
  if (parts.length > 2 || !parts.every((part) => /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(part)))
    throw new EphError('object.refused', `${JSON.stringify(text.slice(0, 100))} is no apiVersion, such as apps/v1.`);
  return text;
};

const readKinds = (apiVersion: string, answer: unknown): ReadonlyMap<string, Resource> => {
  const kinds = new Map<string, Resource>();
  for (const entry of listAt(answer, 'resources')) {
    const [plural, kind] = [textAt(entry, 'name'), textAt(entry, 'kind')];
    // What has a slash is part of another, such as its status.
    if (plural === undefined || kind === undefined || plural.includes('/')) continue;
    kinds.set(kind, { apiVersion, kind, plural, namespaced: fieldAt(entry, 'namespaced') === true });
  }
  return kinds;
};

/** The path of an object, or of all of a kind. Without a namespace: in all namespaces. */
export const resourcePath = (
  { apiVersion, plural, namespaced, kind }: Resource,
  at: Partial<ObjectName>,
  subresource?: string,
): string => {
  const { namespace, name } = at;
  if (name !== undefined && namespaced !== (namespace !== undefined))
    throw new EphError(
      'object.refused',
      namespaced ? `${kind} ${name} needs a namespace.` : `${kind} ${name} is in no namespace, but ${namespace} was given.`,
    );
  const scope = namespaced && namespace !== undefined ? ['namespaces', checkSegment(namespace)] : [];
  const end = name === undefined ? [] : [checkSegment(name), ...(subresource === undefined ? [] : [subresource])];
  return [versionPath(apiVersion), ...scope, plural, ...end].join('/');
};

/** `..` in a name would lead to another object. */
const checkSegment = (name: string): string => {
  if (name === '' || name === '.' || name === '..' || /[/%]/.test(name) || name.length > 253)
    throw new EphError('object.refused', `${JSON.stringify(name.slice(0, 100))} cannot be the name of an object.`);
  return encodeURIComponent(name);
};
