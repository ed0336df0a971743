/** More than any kernel follows: a longer chain fails, so it cannot leave the tree. */
const followLimit = 64;
/** For all links of a tree together; only a malicious tree needs millions of steps. */
const stepLimit = 2_000_000;

interface PathNode {
  readonly children: Map<string, PathNode>;
  /** By folded name. Some file systems ignore case or composition, so `A` may be the link that `a/..` goes through. */
  readonly folded: Map<string, PathNode>;
  target: string | undefined;
}

/**
 * Finds a link that leads out of its tree. Paths and targets are relative to the root, as latin1 bytes. The text of a
 * target alone is not enough: `a -> b/..` leaves the tree if `b` is itself a link to the root.
 */
export const findLeavingLink = (links: ReadonlyMap<string, string>): string | undefined => {
  const root = buildTree(links);
  const budget = { steps: stepLimit };
  return links.keys().find((path) => leavesTree(path, root, budget));
};

const leavesTree = (path: string, root: PathNode, budget: { steps: number }): boolean => {
  /** The nodes from the root to here; `undefined` if no link is below. */
  const at: (PathNode | undefined)[] = [];
  const remaining = path.split('/').toReversed();
  let followed = 0;
  for (let name = remaining.pop(); name !== undefined; name = remaining.pop()) {
    budget.steps -= 1;
    if (budget.steps < 0) return true;
    if (name === '' || name === '.') continue;
    if (name === '..') {
      if (at.length === 0) return true;
      at.pop();
      continue;
    }
    const node = childOf(at.length === 0 ? root : at.at(-1), name);
    if (node?.target === undefined) {
      at.push(node);
      continue;
    }
    if (node.target.startsWith('/')) return true;
    followed += 1;
    if (followed > followLimit) return false;
    remaining.push(...node.target.split('/').toReversed());
  }
  return false;
};

const childOf = (node: PathNode | undefined, name: string): PathNode | undefined =>
  node?.children.get(name) ?? node?.folded.get(fold(name));

const buildTree = (links: ReadonlyMap<string, string>): PathNode => {
  const root = createNode();
  for (const [path, target] of links) {
    let node = root;
    for (const name of path.split('/')) {
      const next = node.children.get(name) ?? createNode();
      node.children.set(name, next);
      node.folded.set(fold(name), next);
      node = next;
    }
    node.target = target;
  }
  return root;
};

const createNode = (): PathNode => ({ children: new Map(), folded: new Map(), target: undefined });

const fold = (name: string): string => Buffer.from(name, 'latin1').toString('utf8').normalize('NFC').toLowerCase();
