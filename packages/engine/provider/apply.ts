import {
  type Action,
  EphError,
  type Failure,
  type Identity,
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
 * Makes the plan real. What is created or updated does not depend on each other (what does, waits), so it runs side by side; removals
 * run one after the other in the order of the plan, and stop at the first that fails. One component's failure is its own.
 */
export const apply = async (input: ApplyInput, signal: AbortSignal): Promise<readonly ActionResult[]> => {
  const changes = input.actions.flatMap((action) => (action.type === 'create' || action.type === 'update' ? [action] : []));
  const results = await Promise.all(changes.map((action) => perform(action, input, signal)));
  const removals: ActionResult[] = [];
  for (const action of input.actions) {
    if (action.type !== 'destroy') continue;
    const result = await perform(action, input, signal);
    removals.push(result);
    if (result.state === 'failed') break;
  }
  return [...results, ...removals];
};

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
