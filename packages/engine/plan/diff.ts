import type { Action, ComponentName, ErrorCode, ObservedComponent, ObservedEnvironment, ResolvedComponent } from '@eph/contract';

/** What should be true of one component: its resolved values, or what it waits for. */
type Wanted =
  | { readonly state: 'resolved'; readonly component: ResolvedComponent }
  | { readonly state: 'waiting'; readonly name: ComponentName; readonly code: ErrorCode; readonly reason: string };

/** How long a version that lost its traffic keeps running, so that requests under way can finish. */
const drainMs = 2000;

/** What to do so that an environment becomes what is wanted. Pure; the same world gives the same actions in the same order. */
export const planUpdate = (
  wanted: readonly Wanted[],
  observed: ObservedEnvironment | undefined,
  now: number,
): readonly Action[] => {
  const seen = new Map(observed?.components.map((component) => [component.name, component]));
  const names = new Set(wanted.map((wish) => (wish.state === 'resolved' ? wish.component.name : wish.name)));
  const unsettled = wanted.filter((wish) => wish.state === 'waiting' || !isAt(seen.get(wish.component.name), wish.component));
  const surplus = removalOrder(observed?.components.filter((component) => !names.has(component.name)) ?? []);
  // What a waiting component will use is not known yet, so everything may be in use.
  const allInUse = unsettled.some((wish) => wish.state === 'waiting');
  // What is about to be replaced or removed still uses what it was started with.
  const serving = unsettled.flatMap((wish) => (wish.state === 'resolved' ? [wish.component, seen.get(wish.component.name)] : []));
  const inUse = new Set([...serving, ...surplus].flatMap((user) => user?.dependsOn ?? []));
  const actions = wanted.flatMap((wish): Action[] =>
    wish.state === 'waiting'
      ? [{ type: 'wait', component: wish.name, code: wish.code, reason: wish.reason }]
      : planComponent(wish.component, seen.get(wish.component.name), allInUse || inUse.has(wish.component.name), now),
  );
  if (surplus.length === 0) return actions;
  // What is no longer in the file may still be used by a version that is about to be replaced: it goes last.
  if (unsettled.length === 0)
    return [...actions, ...surplus.map((component) => planRemoval(component, `${component.name} is no longer in eph.yaml`))];
  return actions;
};

/** What to do so that nothing is left. Components go before what they need. */
export const planDestroy = (observed: ObservedEnvironment, reason: string): readonly Action[] =>
  removalOrder(observed.components).map((component) => planRemoval(component, reason));

const planRemoval = (component: ObservedComponent, reason: string): Action => ({
  type: 'destroy',
  component: component.name,
  provider: component.provider,
  reason,
});

const isAt = (seen: ObservedComponent | undefined, wanted: ResolvedComponent): boolean =>
  seen?.next === null && seen.current?.revision === wanted.revision && seen.current.health === 'ready';

const planComponent = (wanted: ResolvedComponent, seen: ObservedComponent | undefined, inUse: boolean, now: number): Action[] => {
  const { name, provider, revision } = wanted;
  const change = (type: 'create' | 'update', reason: string): Action[] => [{ type, component: name, provider, revision, reason }];
  const wait = (reason: string): Action[] => [{ type: 'wait', component: name, code: 'component.not_ready', reason }];
  if (seen === undefined || (seen.current === null && seen.next === null)) return change('create', `${name} does not exist yet`);
  if (seen.next?.revision === revision)
    return wait(seen.next.health === 'failing' ? `${name} does not get ready: ${seen.next.message}` : `${name} is starting`);
  if (seen.current?.revision !== revision)
    return change('update', `${name} runs another version than ${short(wanted.commit)} asks for`);
  // The same call would stop the version before this one.
  if (seen.next !== null && !(seen.retiring && inUse))
    return change('update', `${name} already runs what is wanted; a version on its way is not`);
  if (seen.current.health !== 'ready') return wait(`${name} is not ready: ${seen.current.message}`);
  if (!seen.retiring) return [];
  if (inUse)
    return [
      {
        type: 'wait',
        component: name,
        code: 'component.draining',
        reason: `the version of ${name} before this one is still in use`,
      },
    ];
  const until = Date.parse(seen.current.since) + drainMs;
  // A clock that was set back must not keep an old version for ever.
  if (until > now && until <= now + drainMs)
    return [
      {
        type: 'wait',
        component: name,
        code: 'component.draining',
        reason: `the version of ${name} before this one finishes its requests`,
        until: new Date(until).toISOString(),
      },
    ];
  return change('update', `nobody uses the version of ${name} before this one any more`);
};

const short = (commit: string): string => commit.slice(0, 7);

/** Users before what they use. Circles cannot come from us, but what is observed may be damaged: then any order will do. */
const removalOrder = (components: readonly ObservedComponent[]): readonly ObservedComponent[] => {
  const left = new Map(components.map((component) => [component.name, component]));
  const ordered: ObservedComponent[] = [];
  while (left.size > 0) {
    const needed = new Set(
      [...left.values()].flatMap((component) => component.dependsOn.filter((one) => one !== component.name)),
    );
    const free = [...left.values()].filter((component) => !needed.has(component.name));
    const round = free.length > 0 ? free : [...left.values()];
    for (const component of round) left.delete(component.name);
    ordered.push(...round);
  }
  return ordered;
};
