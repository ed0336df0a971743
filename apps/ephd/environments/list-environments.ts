import type { EnvironmentPage, EnvironmentQuery, EnvironmentView, ProjectId } from '@eph/contract';
import type { EnvironmentRecord } from '@eph/engine/loop/record';
import type { Caller } from '../api/handlers.ts';

type View = (known: EnvironmentRecord) => EnvironmentView;

/** One page of those that match, of all in the order of their names. Of the others no more is computed than the filters need. */
export const listEnvironments = (
  all: readonly EnvironmentRecord[],
  query: EnvironmentQuery,
  caller: Pick<Caller, 'may'>,
  view: View,
): EnvironmentPage => {
  const { limit, after, fields } = query;
  // Rules are about projects, of which there are far fewer.
  const mayRead = memoize((project: ProjectId) => caller.may('environments.read', project));
  const environments: EnvironmentView[] = [];
  for (let at = after === undefined ? 0 : findAfter(all, after); at < all.length; at += 1) {
    const known = all[at];
    if (known === undefined || !mayRead(known.project) || !matchesRecord(known, query)) continue;
    const shown = view(known);
    if (!matchesView(shown, query)) continue;
    // One more than fits shows that there is a next page.
    if (environments.length >= limit)
      return { environments: pick(environments, fields), next: environments.at(-1)?.name ?? null };
    environments.push(shown);
  }
  return { environments: pick(environments, fields), next: null };
};

export const memoize = <Key, Value>(compute: (key: Key) => Value): ((key: Key) => Value) => {
  const known = new Map<Key, Value>();
  return (key) => {
    const found = known.get(key);
    if (found !== undefined) return found;
    const value = compute(key);
    known.set(key, value);
    return value;
  };
};

const matchesRecord = (
  { project, source, observed }: EnvironmentRecord,
  { project: wanted, author, label, provider }: EnvironmentQuery,
): boolean =>
  (wanted === undefined || project === wanted) &&
  (author === undefined || source?.pull?.author === author) &&
  (label === undefined || source?.pull?.labels.includes(label) === true) &&
  (provider === undefined || observed?.components.some((one) => one.provider === provider) === true);

const matchesView = (
  { phase, name, alias, source, title, summary }: EnvironmentView,
  { phase: phases, text }: EnvironmentQuery,
): boolean =>
  (phases === undefined || phases.includes(phase)) &&
  (text === undefined ||
    [name, alias, source.name, title, summary].some((one) => one?.toLowerCase().includes(text.toLowerCase()) === true));

const pick = (environments: readonly EnvironmentView[], fields: EnvironmentQuery['fields']): EnvironmentPage['environments'] => {
  if (fields === undefined) return [...environments];
  const wanted = new Set<string>(['id', ...fields]);
  return environments.map(
    (one) => Object.fromEntries(Object.entries(one).filter(([name]) => wanted.has(name))) as { id: string },
  );
};

/** The first whose name is greater. The one that was named may be gone. */
export const findAfter = (all: readonly EnvironmentRecord[], name: string): number => {
  let [low, high] = [0, all.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((all[middle]?.name ?? '') <= name) low = middle + 1;
    else high = middle;
  }
  return low;
};
