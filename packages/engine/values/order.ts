import { type ComponentName, EphError } from '@eph/contract';
import { instead } from './references.ts';

/** With the components it needs, each with the reason. */
export interface GraphNode {
  readonly name: ComponentName;
  readonly needs: ReadonlyMap<ComponentName, string>;
}

/** Components in an order in which each comes after what it needs. Throws for an unknown target and for a cycle, naming the path. */
export const orderByNeed = <N extends GraphNode>(nodes: readonly N[]): readonly N[] => {
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const ordered: N[] = [];
  const done = new Set<ComponentName>();
  for (const start of nodes) {
    // An explicit stack: a chain of thousands of components must not overflow the real one.
    const path: { node: N; rest: Iterator<ComponentName> }[] = [];
    const onPath = new Set<ComponentName>();
    const enter = (node: N): void => {
      path.push({ node, rest: node.needs.keys() });
      onPath.add(node.name);
    };
    if (!done.has(start.name)) enter(start);
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const next = top.rest.next();
      if (next.done === true) {
        path.pop();
        onPath.delete(top.node.name);
        done.add(top.node.name);
        ordered.push(top.node);
        continue;
      }
      if (done.has(next.value)) continue;
      if (onPath.has(next.value))
        throw cycle(
          path.map((one) => one.node.name),
          next.value,
        );
      const needed = byName.get(next.value);
      if (needed === undefined) throw unknown(top.node, next.value, [...byName.keys()]);
      enter(needed);
    }
  }
  return ordered;
};

const cycle = (path: readonly ComponentName[], back: ComponentName): EphError =>
  new EphError(
    'reference.cycle',
    `components need each other in a circle: ${[...path.slice(path.indexOf(back)), back].join(' → ')}`,
  );

const unknown = (node: GraphNode, target: ComponentName, names: readonly string[]): EphError =>
  new EphError(
    'reference.unknown',
    `component ${node.name}: ${node.needs.get(target) ?? target} names no component; ${instead(target, names)}`,
  );
