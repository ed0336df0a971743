/** More than any kernel follows before it gives up: a longer chain leads nowhere, so it cannot leave the tree either. */
const followLimit = 64;
/** For all links of a tree together. A real tree needs a few steps per link; one that needs millions was made to keep us busy. */
const stepLimit = 2_000_000;

/** A place in the tree that a link is at, or on the way to. */
interface PathNode {
  readonly children: Map<string, PathNode>;
  /** By folded name. Some file systems take names that differ in case or composition for one, so `A` may be the link that `a/..` goes through. */
  readonly folded: Map<string, PathNode>;
  target: string | undefined;
}

/**
 * A link that leads out of its tree, if there is one. Links are given as path and target, relative to the root with `/` between
 * names, as bytes in latin1. Looking at the text of a target alone is not enough: `a -> b/..` leaves the tree if `b` is itself a link to
 * the root.
 */
export const findLeavingLink = (links: ReadonlyMap<string, string>): string | undefined => {
  const root = buildTree(links);
  const budget = { steps: stepLimit };
  return links.keys().find((path) => leavesTree(path, root, budget));
};

const leavesTree = (path: string, root: PathNode, budget: { steps: number }): boolean => {
  /** The places from the root to where we are; `undefined` where no link is near. */
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
