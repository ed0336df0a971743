import type {
  Action,
  ComponentName,
  ComponentVersion,
  DesiredComponent,
  ObservedComponent,
  ObservedEnvironment,
  ProviderName,
  ResolvedComponent,
} from '@eph/contract';

export interface PlanOptions {
  readonly now: number;
  /** Providers that are no longer configured: what they hold is removed only after an operator released it. */
  readonly retired: ReadonlySet<ProviderName>;
}

/** How long a version that lost its traffic keeps running, so that requests under way can finish. */
const drainMs = 2000;

/**
 * What to do so that an environment becomes what is desired. Pure; the same input gives the same actions in the same order.
 * A component is known by provider and name: one that moved is made on its new provider, and removed from the old one with
 * everything else that is no longer desired, once nothing can use it any more.
 */
export const planUpdate = (
  desired: readonly DesiredComponent[],
  observed: ObservedEnvironment | undefined,
  options: PlanOptions,
): readonly Action[] => {
  const seen = new Map(observed?.components.map((component) => [keyOf(component), component]));
  const desiredOf = (one: DesiredComponent): ObservedComponent | undefined =>
    seen.get(keyOf(one.state === 'resolved' ? one.component : one));
  const unsettled = desired.filter((one) => one.state === 'waiting' || !isAt(desiredOf(one), one.component));
  const keys = new Set(desired.map((one) => keyOf(one.state === 'resolved' ? one.component : one)));
  const surplus = removalOrder(observed?.components.filter((component) => !keys.has(keyOf(component))) ?? []);
  // What a waiting component will use is not known yet, so everything may be in use.
  const allInUse = unsettled.some((one) => one.state === 'waiting');
  // What is about to be replaced or removed still uses what it was started with.
  const serving = unsettled.flatMap((one) => (one.state === 'resolved' ? [one.component, desiredOf(one)] : []));
  const inUse = new Set([...serving, ...surplus.map(({ component }) => component)].flatMap((user) => user?.dependsOn ?? []));
  const actions = desired.flatMap((one): readonly Action[] =>
    one.state === 'waiting'
      ? [{ type: 'wait', component: one.name, code: one.code, reason: one.reason, ...(one.until && { until: one.until }) }]
      : planComponent(one.component, desiredOf(one), allInUse || inUse.has(one.component.name), options.now),
  );
  // What is no longer desired may still be used by a version that is about to be replaced: it goes last.
  if (unsettled.length > 0) return actions;
  const moved = new Set(desired.map((one) => (one.state === 'resolved' ? one.component.name : one.name)));
  const lastChange = Math.max(...desired.map((one) => Date.parse(desiredOf(one)?.current?.since ?? '')));
  return [...actions, ...surplus.map((removal) => planSurplus(removal, moved, lastChange, options))];
};

/** What to do so that nothing is left. Components go before what they need. */
export const planDestroy = (observed: ObservedEnvironment, reason: string): readonly Action[] =>
  removalOrder(observed.components).map((removal) => planRemoval(removal, reason));

const keyOf = ({ provider, name }: Pick<ObservedComponent, 'provider' | 'name'>): string => `${provider}/${name}`;

const planRemoval = ({ component: { name, provider }, users }: Removal, reason: string): Action => {
  const after = users
    .toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
    .map((user) => ({ component: user.name, provider: user.provider }));
  return { type: 'destroy', component: name, provider, reason, ...(after.length > 0 && { after }) };
};

/** Requests that were under way when its successor took over may finish. */
const planSurplus = (
  removal: Removal,
  desired: ReadonlySet<ComponentName>,
  lastChange: number,
  { now, retired }: PlanOptions,
): Action => {
  const { name, provider } = removal.component;
  if (retired.has(provider))
    return held(name, `provider ${provider} is no longer configured and still holds ${name}; an operator must release it`);
  const until = drainedAt(lastChange, now);
  if (until !== undefined) return draining(name, `${name} on ${provider} finishes its requests`, until);
  const why = desired.has(name) ? `${name} has moved to another provider` : `${name} is no longer in eph.yaml`;
  return planRemoval(removal, why);
};

const held = (component: ComponentName, reason: string): Action => ({ type: 'wait', component, code: 'plan.held', reason });

const draining = (component: ComponentName, reason: string, until?: number): Action => ({
  type: 'wait',
  component,
  code: 'component.draining',
  reason,
  ...(until === undefined ? {} : { until: new Date(until).toISOString() }),
});

/** Undefined once it is over; a clock that was set back must not keep an old version for ever. */
const drainedAt = (since: number, now: number): number | undefined =>
  since + drainMs > now && since <= now ? since + drainMs : undefined;

const isAt = (seen: ObservedComponent | undefined, desired: ResolvedComponent): boolean =>
  seen?.next === null && seen.current?.revision === desired.revision && seen.current.health === 'ready';

const planComponent = (
  desired: ResolvedComponent,
  seen: ObservedComponent | undefined,
  inUse: boolean,
  now: number,
): readonly Action[] => {
  const { name, provider, revision } = desired;
  const change = (type: 'create' | 'update', reason: string): readonly Action[] => [
    { type, component: name, provider, revision, reason },
  ];
  const wait = ({ stalled }: ComponentVersion, reason: string): readonly Action[] => [
    { type: 'wait', component: name, code: stalled ? 'component.stalled' : 'component.not_ready', reason },
  ];
  if (seen === undefined || (seen.current === null && seen.next === null)) return change('create', `${name} does not exist yet`);
  if (seen.next?.revision === revision)
    return wait(seen.next, [`${name} ${describeStart(seen.next)}`, seen.next.message].filter((text) => text !== '').join(': '));
  if (seen.current?.revision !== revision) {
    const drift = (seen.next ?? seen.current)?.drift;
    if (drift !== undefined) return change('update', drift);
    const interrupts =
      seen.current === null || desired.interruption === undefined ? '' : `; this interrupts it: ${desired.interruption}`;
    return change('update', `${name} runs another version than ${short(desired.commit)} asks for${interrupts}`);
  }
  // The same call would stop the version before this one.
  if (seen.next !== null && !(seen.retiring && inUse))
    return change('update', `${name} already runs what is wanted; a version on its way is not`);
  if (seen.current.health !== 'ready') return wait(seen.current, `${name} is not ready: ${seen.current.message}`);
  if (!seen.retiring) return [];
  if (inUse) return [draining(name, `the version of ${name} before this one is still in use`)];
  const until = drainedAt(Date.parse(seen.current.since), now);
  if (until !== undefined) return [draining(name, `the version of ${name} before this one finishes its requests`, until)];
  return change('update', `nobody uses the version of ${name} before this one any more`);
};

const describeStart = ({ health }: ComponentVersion): string => (health === 'failing' ? 'does not get ready' : 'is starting');

const short = (commit: string): string => commit.slice(0, 7);

interface Removal {
  readonly component: ObservedComponent;
  /** Those before it in the order that use it. */
  readonly users: readonly ObservedComponent[];
}

/**
 * Users before what they use. A component that moves is there twice, and the two commits may need each other in opposite directions:
 * then the oldest copy that no component beside it needs goes first, because what was started later uses the newer copy. Other
 * circles come only from damage, and any order will do.
 */
const removalOrder = (components: readonly ObservedComponent[]): readonly Removal[] => {
  const left = new Set(components);
  const ordered: Removal[] = [];
  const findFree = (nameOf: (provider: ProviderName, name: ComponentName) => string): readonly ObservedComponent[] => {
    const needed = new Set(
      [...left].flatMap(({ name, provider, dependsOn }) =>
        dependsOn.filter((one) => one !== name).map((one) => nameOf(provider, one)),
      ),
    );
    return [...left].filter(({ name, provider }) => !needed.has(nameOf(provider, name)));
  };
  while (left.size > 0) {
    const free = findFree((_, name) => name);
    const round =
      free.length > 0
        ? free
        : oldestCopy(
            findFree((provider, name) => `${provider}/${name}`),
            left,
          );
    const earlier = ordered.map(({ component }) => component);
    for (const component of round) {
      const { name } = component;
      left.delete(component);
      ordered.push({ component, users: earlier.filter((one) => one.name !== name && one.dependsOn.includes(name)) });
    }
  }
  return ordered;
};

const oldestCopy = (free: readonly ObservedComponent[], all: ReadonlySet<ObservedComponent>): readonly ObservedComponent[] => {
  const isCopy = (one: ObservedComponent): boolean => [...all].some((other) => other !== one && other.name === one.name);
  const sinceOf = ({ current, next }: ObservedComponent): string => (current ?? next)?.since ?? '';
  const [oldest] = free.filter(isCopy).toSorted((a, b) => (sinceOf(a) < sinceOf(b) ? -1 : 1));
  return oldest === undefined ? [...all] : [oldest];
};
