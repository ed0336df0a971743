/** More than any kernel follows: a longer chain fails, so it cannot leave the tree. */
const followLimit = 64;
/** For all links of a tree together; only a malicious tree needs millions of steps. */
const stepLimit = 1_000_000;

interface PathNode {
  readonly children: Map<string, PathNode>;
  /** By folded name. Some file systems ignore case or composition, so `A` may be the link that `a/..` goes through. */
  readonly folded: Map<string, PathNode[]>;
  target: string | undefined;
}

/** A place on the way along a path: the nodes from the root to here, `undefined` if no link is below, and what remains. */
interface Place {
  readonly at: (PathNode | undefined)[];
  /** The next name is the last. */
  readonly remaining: string[];
  followed: number;
}

/**
 * Finds a link that leads out of its tree. Paths and targets are relative to the root, as latin1 bytes. The text of a
 * target alone is not enough: `a -> b/..` leaves the tree if `b` is itself a link to the root. Where a name may mean
 * several entries, because it is spelt otherwise, none of the ways may leave.
 */
export const findLeavingLink = (links: ReadonlyMap<string, string>): string | undefined => {
  const root = buildTree(links);
  const budget = { steps: stepLimit };
  return links.keys().find((path) => leavesTree(path, root, budget));
};

const leavesTree = (path: string, root: PathNode, budget: { steps: number }): boolean => {
  const places: Place[] = [{ at: [], remaining: path.split('/').toReversed(), followed: 0 }];
  for (let place = places.pop(); place !== undefined; place = places.pop())
    if (leavesFrom(place, root, budget, places)) return true;
  return false;
};

/** Follows one way; others that a name may mean are added to `places`. */
const leavesFrom = (place: Place, root: PathNode, budget: { steps: number }, places: Place[]): boolean => {
  const { at, remaining } = place;
  for (let name = remaining.pop(); name !== undefined; name = remaining.pop()) {
    budget.steps -= 1;
    if (budget.steps < 0) return true;
    if (name === '' || name === '.') continue;
    if (name === '..') {
      if (at.length === 0) return true;
      at.pop();
      continue;
    }
    const [node, ...others] = meaningsOf(at.length === 0 ? root : at.at(-1), name);
    for (const other of others) {
      budget.steps -= at.length + remaining.length;
      const copy: Place = { at: [...at], remaining: [...remaining], followed: place.followed };
      if (enter(copy, other)) return true;
      places.push(copy);
    }
    if (enter(place, node)) return true;
    if (place.followed > followLimit) return false;
  }
  return false;
};

/** True if the way leaves the tree at once. */
const enter = (place: Place, node: PathNode | undefined): boolean => {
  if (node?.target === undefined) place.at.push(node);
  else {
    place.followed += 1;
    place.remaining.push(...node.target.split('/').toReversed());
  }
  return node?.target?.startsWith('/') === true;
};

/** The entry of exactly this name, which may be a folder without links, and those that are spelt otherwise. */
const meaningsOf = (node: PathNode | undefined, name: string): readonly (PathNode | undefined)[] => {
  const exact = node?.children.get(name);
  return [exact, ...(node?.folded.get(fold(name)) ?? []).filter((other) => other !== exact)];
};

const buildTree = (links: ReadonlyMap<string, string>): PathNode => {
  const root = createNode();
  for (const [path, target] of links) {
    let node = root;
    for (const name of path.split('/')) {
      const known = node.children.get(name);
      const next = known ?? createNode();
      node.children.set(name, next);
      if (known === undefined) {
        const folded = fold(name);
        node.folded.set(folded, [...(node.folded.get(folded) ?? []), next]);
      }
      node = next;
    }
    node.target = target;
  }
  return root;
};

const createNode = (): PathNode => ({ children: new Map(), folded: new Map(), target: undefined });

/** Characters that some file systems ignore. */
const ignorable = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;

/** Equal for names, as latin1 bytes, that are the same on some file system: without case, composition or ignored characters. */
export const fold = (name: string): string => {
  const text = Buffer.from(name, 'latin1').toString('utf8').replace(ignorable, '');
  // Upper case first: ß, dotless ı and long ſ have other letters in lower case.
  return text.normalize('NFD').toUpperCase().toLowerCase().normalize('NFC');
};
