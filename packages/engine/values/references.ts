import { type ComponentName, closest, componentName, dnsLabel, EphError } from '@eph/contract';

/** `outputs/<component>/<key>`: a value that another component publishes. */
export interface Reference {
  readonly text: string;
  readonly component: ComponentName;
  readonly key: string;
}

/** A value is a reference only as a whole; text that merely contains one is text. */
export const parseReference = (text: string): Reference | undefined => {
  const [word, component, key, ...rest] = text.split('/');
  if (word !== 'outputs' || component === undefined || key === undefined || rest.length > 0) return undefined;
  if (!dnsLabel.test(component) || !/^[A-Za-z0-9_-]+$/.test(key)) return undefined;
  return { text, component: componentName(component), key };
};

export interface GraphNode {
  readonly name: ComponentName;
  /** Components it relies on, with the sentence that says why. */
  readonly needs: ReadonlyMap<ComponentName, string>;
}

/** Components in an order in which each comes after what it needs. Throws for an unknown target and for a cycle, naming the path. */
export const orderByNeed = (nodes: readonly GraphNode[]): readonly GraphNode[] => {
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const ordered: GraphNode[] = [];
  const done = new Set<ComponentName>();
  for (const start of nodes) {
    // An explicit stack: a chain of thousands of components must not overflow the real one.
    const path: { node: GraphNode; rest: Iterator<ComponentName> }[] = [];
    const onPath = new Set<ComponentName>();
    const enter = (node: GraphNode): void => {
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

const unknown = (node: GraphNode, target: ComponentName, names: readonly string[]): EphError => {
  const near = closest(target, names);
  const hint = near === undefined ? `there is: ${names.join(', ')}` : `did you mean ${JSON.stringify(near)}?`;
  return new EphError(
    'reference.unknown',
    `component ${node.name}: ${node.needs.get(target) ?? target} names no component; ${hint}`,
  );
};
