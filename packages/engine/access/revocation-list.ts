import type { Revocation } from './revocation-store.ts';

/** Revocations by their subject. */
export type RevocationList = ReadonlyMap<string, Revocation>;

export const keyOf = ({ kind, subject }: Pick<Revocation, 'kind' | 'subject'>): string => `${kind} ${subject}`;

/** Adds to a list, and says whether that changed it. Of two for the same subject, the later of each time counts. */
export const addRevocations = (list: Map<string, Revocation>, revocations: Iterable<Revocation>): boolean => {
  let isChanged = false;
  for (const revocation of revocations) {
    const key = keyOf(revocation);
    const known = list.get(key);
    if (known !== undefined && isCovered(revocation, known)) continue;
    const [before, until] = (['before', 'until'] as const).map((time) => Math.max(revocation[time], known?.[time] ?? 0));
    list.set(key, { ...revocation, before: before ?? 0, until: until ?? 0 });
    isChanged = true;
  }
  return isChanged;
};

/** Whether a list has everything of another one. */
export const hasAll = (list: RevocationList, other: RevocationList): boolean =>
  other.entries().every(([key, revocation]) => {
    const known = list.get(key);
    return known !== undefined && isCovered(revocation, known);
  });

const isCovered = (revocation: Revocation, by: Revocation): boolean =>
  by.before >= revocation.before && by.until >= revocation.until;

export const dropExpired = (list: Map<string, Revocation>, now: number): void => {
  for (const [key, { until }] of list) if (until < now) list.delete(key);
};
