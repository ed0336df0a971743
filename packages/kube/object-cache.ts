import { isDeepStrictEqual } from 'node:util';
import { type KubeObject, keyOf, type ObjectName } from './object.ts';
import { SharedStrings } from './shared-strings.ts';

/** The part of an object that is kept. Everything else is forgotten at once. */
export type Keep<T extends KubeObject> = (object: KubeObject) => T;

/** Values under which an object is found. */
export type Indexes<T, Name extends string> = Readonly<Record<Name, (object: T) => readonly string[]>>;

interface Entry<T> {
  readonly object: T;
  /** `NaN` where the server does not count. */
  readonly version: number;
}

interface Index<T> {
  readonly valuesOf: (object: T) => readonly string[];
  readonly keys: Map<string, Set<string>>;
  /** What was handed out, until it changes. */
  readonly views: Map<string, readonly T[]>;
}

/** Of uids that are gone; what is older than so many others is not sent any more. */
const goneLimit = 1_000;

/**
 * The objects of a selection, as far as they are known. Every object has one newest version: what comes late, twice or in another
 * order changes nothing, wherever it comes from (a list, a watch, the answer to a write).
 *
 * What is handed out stays the same object, and the same array, for as long as nothing in it has changed.
 */
export class ObjectCache<T extends KubeObject, Name extends string = never> {
  readonly #keep: Keep<T>;
  readonly #entries = new Map<string, Entry<T>>();
  readonly #indexes: ReadonlyMap<string, Index<T>>;
  /** Until which version a uid is gone; later it may be back, because labels decide what is selected. */
  readonly #gone = new Map<string, number>();
  readonly #strings = new SharedStrings();
  #all: readonly T[] | undefined;
  #listedUntil = Number.NaN;

  constructor(keep: Keep<T>, indexes: Indexes<T, Name>) {
    this.#keep = keep;
    this.#indexes = new Map(
      Object.entries<(object: T) => readonly string[]>(indexes).map(([name, valuesOf]) => [
        name,
        { valuesOf, keys: new Map(), views: new Map() },
      ]),
    );
  }

  get size(): number {
    return this.#entries.size;
  }

  get(name: ObjectName): T | undefined {
    return this.#entries.get(keyOf(name))?.object;
  }

  all(): readonly T[] {
    this.#all ??= [...this.#entries.values()].map(({ object }) => object);
    return this.#all;
  }

  by(name: Name, value: string): readonly T[] {
    const index = this.#indexes.get(name);
    const keys = index?.keys.get(value);
    if (index === undefined || keys === undefined) return none;
    const known = index.views.get(value);
    if (known !== undefined) return known;
    const view = [...keys].flatMap((key) => this.#entries.get(key)?.object ?? []);
    index.views.set(value, view);
    return view;
  }

  /** The values of an index that have objects. */
  valuesOf(name: Name): Iterable<string> {
    return this.#indexes.get(name)?.keys.keys() ?? [];
  }

  /** What a watch or the answer to a write shows. Returns the key if something changed. */
  put(object: KubeObject): string | undefined {
    const isKnown = this.#entries.has(keyOf(object.metadata));
    // It is gone since: the last list would have shown it.
    return !isKnown && versionOf(object) <= this.#listedUntil ? undefined : this.#put(object);
  }

  #put(object: KubeObject): string | undefined {
    const key = keyOf(object.metadata);
    const version = versionOf(object);
    const goneUntil = this.#gone.get(object.metadata.uid ?? '');
    if (goneUntil !== undefined && !(version > goneUntil)) return undefined;
    const before = this.#entries.get(key);
    if (before !== undefined && version <= before.version) return undefined;
    const kept = this.#keep(object);
    this.#strings.shareIn(kept);
    if (before !== undefined && isDeepStrictEqual(before.object, kept)) {
      this.#entries.set(key, { object: before.object, version });
      return undefined;
    }
    this.#set(key, before, { object: kept, version });
    return key;
  }

  /** It is gone, or is not selected any more. Returns the key if something changed. */
  remove(object: KubeObject): string | undefined {
    const version = versionOf(object);
    this.#noteGone(object.metadata.uid, version);
    return this.#removeUntil(keyOf(object.metadata), version);
  }

  /** The answer to a deletion: this uid does not exist and never will again. */
  removeForGood(name: ObjectName, uid: string): string | undefined {
    const key = keyOf(name);
    this.#noteGone(uid, Number.POSITIVE_INFINITY);
    return this.#entries.get(key)?.object.metadata.uid === uid ? this.#removeUntil(key, Number.POSITIVE_INFINITY) : undefined;
  }

  /** Everything is listed again. */
  beginListing(): Listing {
    const seen = new Set<string>();
    return {
      put: (object) => {
        seen.add(keyOf(object.metadata));
        return this.#put(object);
      },
      end: (resourceVersion) => {
        const version = parseVersion(resourceVersion);
        this.#listedUntil = version;
        const missing = [...this.#entries.keys()].filter((key) => !seen.has(key));
        // What was written since the list was taken is not in there.
        return missing.flatMap((key) => this.#removeUntil(key, version) ?? []);
      },
    };
  }

  #removeUntil(key: string, version: number): string | undefined {
    const before = this.#entries.get(key);
    if (before === undefined || before.version > version) return undefined;
    this.#set(key, before, undefined);
    return key;
  }

  #noteGone(uid: string | undefined, version: number): void {
    if (uid === undefined || Number.isNaN(version)) return;
    const before = this.#gone.get(uid);
    if (before !== undefined && before > version) return;
    this.#gone.delete(uid);
    this.#gone.set(uid, version);
    const [oldest] = this.#gone.keys();
    if (this.#gone.size > goneLimit && oldest !== undefined) this.#gone.delete(oldest);
  }

  #set(key: string, before: Entry<T> | undefined, after: Entry<T> | undefined): void {
    for (const index of this.#indexes.values()) {
      const left = before === undefined ? [] : index.valuesOf(before.object);
      const joined = after === undefined ? [] : index.valuesOf(after.object);
      for (const value of left) if (!joined.includes(value)) leave(index.keys, value, key);
      for (const value of joined) join(index.keys, value, key);
      for (const value of [...left, ...joined]) index.views.delete(value);
    }
    if (after === undefined) this.#entries.delete(key);
    else this.#entries.set(key, after);
    this.#all = undefined;
  }
}

/** One reading of everything. One that is given up changes nothing but what was put. */
export interface Listing {
  /** Returns the key if something changed. */
  put(object: KubeObject): string | undefined;
  /** The list is whole: what it did not show is gone. Returns the keys. */
  end(resourceVersion: string): readonly string[];
}

const none: readonly never[] = [];

const join = (keys: Map<string, Set<string>>, value: string, key: string): void => {
  const members = keys.get(value);
  if (members === undefined) keys.set(value, new Set([key]));
  else members.add(key);
};

const leave = (keys: Map<string, Set<string>>, value: string, key: string): void => {
  const members = keys.get(value);
  members?.delete(key);
  if (members?.size === 0) keys.delete(value);
};

const versionOf = ({ metadata: { resourceVersion = '' } }: KubeObject): number => parseVersion(resourceVersion);

/** The API promises that versions of a kind are numbers that grow. Where they are not, the last one to come is the newest. */
export const parseVersion = (resourceVersion: string): number =>
  /^\d{1,15}$/.test(resourceVersion) ? Number(resourceVersion) : Number.NaN;
