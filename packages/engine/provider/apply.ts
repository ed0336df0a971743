import {
  type Action,
  EphError,
  type Failure,
  type Identity,
  type PlacedComponent,
  type ProviderName,
  type ResolvedComponent,
  toFailure,
} from '@eph/contract';
import type { Provider } from './provider.ts';

export type ActionResult =
  | { readonly action: Action; readonly state: 'done' }
  | { readonly action: Action; readonly state: 'failed'; readonly failure: Failure };

export interface ApplyInput {
  readonly identity: Identity;
  readonly actions: readonly Action[];
  readonly components: readonly ResolvedComponent[];
  readonly providers: ReadonlyMap<ProviderName, Provider>;
}

/**
 * Makes the plan real. What is created or updated does not depend on each other (what does, waits), so it runs side by side. Removals
 * follow, each as soon as those that it comes after succeeded; one that fails keeps what it needs. One component's failure is its own.
 */
export const apply = async (input: ApplyInput, signal: AbortSignal): Promise<readonly ActionResult[]> => {
  const changes = input.actions.flatMap((action) => (action.type === 'create' || action.type === 'update' ? [action] : []));
  const results = await Promise.all(changes.map((action) => perform(action, input, signal)));
  return [...results, ...(await performRemovals(input, signal))];
};

const performRemovals = async (input: ApplyInput, signal: AbortSignal): Promise<readonly ActionResult[]> => {
  const begun = new Map<string, Promise<ActionResult | undefined>>();
  for (const action of input.actions) {
    if (action.type !== 'destroy') continue;
    // They come earlier in the plan. What is not in it, because somebody else sees to it, is not waited for.
    const before = (action.after ?? []).map((one) => begun.get(keyOf(one)));
    begun.set(
      keyOf(action),
      performAfter(before, () => perform(action, input, signal)),
    );
  }
  return (await Promise.all(begun.values())).filter((result) => result !== undefined);
};

/** Undefined where one of those before did not succeed. */
const performAfter = async (
  before: readonly (Promise<ActionResult | undefined> | undefined)[],
  begin: () => Promise<ActionResult>,
): Promise<ActionResult | undefined> => {
  const results = await Promise.all(before.filter((one) => one !== undefined));
  return results.every((result) => result?.state === 'done') ? await begin() : undefined;
};

const keyOf = ({ provider, component }: PlacedComponent): string => `${provider}/${component}`;

const perform = async (
  action: Exclude<Action, { type: 'wait' }>,
  input: ApplyInput,
  signal: AbortSignal,
): Promise<ActionResult> => {
  try {
    signal.throwIfAborted();
    const provider = input.providers.get(action.provider);
    if (provider === undefined) throw new EphError('provider.unknown', `there is no provider ${action.provider} here`);
    if (action.type === 'destroy') await provider.remove(input.identity, action.component, signal);
    else await provider.ensure(input.identity, resolved(action, input.components), signal);
    return { action, state: 'done' };
  } catch (error) {
    const failure = signal.aborted
      ? toFailure(new EphError('plan.superseded', 'stopped, because a newer commit or request arrived'))
      : toFailure(error);
    return { action, state: 'failed', failure };
  }
};

/** A component that moves has the same name on two providers. */
const resolved = (
  { component: name, provider }: Pick<ResolvedComponent, 'provider'> & { readonly component: ResolvedComponent['name'] },
  components: readonly ResolvedComponent[],
): ResolvedComponent => {
  const component = components.find((one) => one.name === name && one.provider === provider);
  if (component === undefined) throw new EphError('internal', `the plan names ${name} on ${provider}, which was not resolved`);
  return component;
};
