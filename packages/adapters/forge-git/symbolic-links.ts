/** More than any kernel follows before it gives up: a longer chain leads nowhere, so it cannot leave the tree either. */
const followLimit = 64;
/** For all links of a tree together. A real tree needs a few steps per link; one that needs millions was made to keep us busy. */
const stepLimit = 2_000_000;

/** A place in the tree that a link is at, or on the way to. */
interface Place {
  readonly inner: Map<string, Place>;
  /** By folded name. Some file systems take names that differ in case or composition for one, so `A` may be the link that `a/..` goes through. */
  readonly folded: Map<string, Place>;
  target: string | undefined;
}

/**
 * A link that leads out of its tree, if there is one. Links are given as path and target, relative to the root with `/` between
 * names, as bytes in latin1. Looking at the text of a target alone is not enough: `a -> b/..` leaves the tree if `b` is itself a link to
 * the root.
 */
export const findLeavingLink = (links: ReadonlyMap<string, string>): string | undefined => {
  const root = buildPlaces(links);
  const budget = { steps: stepLimit };
  return links.keys().find((path) => leaves(path, root, budget));
};

const leaves = (path: string, root: Place, budget: { steps: number }): boolean => {
  /** The places from the root to where we are; `undefined` where no link is near. */
  const at: (Place | undefined)[] = [];
  const ahead = path.split('/').toReversed();
  let followed = 0;
  for (let name = ahead.pop(); name !== undefined; name = ahead.pop()) {
    budget.steps -= 1;
    if (budget.steps < 0) return true;
    if (name === '' || name === '.') continue;
    if (name === '..') {
      if (at.length === 0) return true;
      at.pop();
      continue;
    }
    const place = enter(at.length === 0 ? root : at.at(-1), name);
    if (place?.target === undefined) {
      at.push(place);
      continue;
    }
    if (place.target.startsWith('/')) return true;
    followed += 1;
    if (followed > followLimit) return false;
    ahead.push(...place.target.split('/').toReversed());
  }
  return false;
};

const enter = (place: Place | undefined, name: string): Place | undefined =>
  place?.inner.get(name) ?? place?.folded.get(fold(name));

const buildPlaces = (links: ReadonlyMap<string, string>): Place => {
  const root = createPlace();
  for (const [path, target] of links) {
    let place = root;
    for (const name of path.split('/')) {
      const next = place.inner.get(name) ?? createPlace();
      place.inner.set(name, next);
      place.folded.set(fold(name), next);
      place = next;
    }
    place.target = target;
  }
  return root;
};

const createPlace = (): Place => ({ inner: new Map(), folded: new Map(), target: undefined });

const fold = (name: string): string => Buffer.from(name, 'latin1').toString('utf8').normalize('NFC').toLowerCase();
