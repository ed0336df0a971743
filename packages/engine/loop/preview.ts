import type { Action, Failure, ParsedSpec, Plan, ProjectId, Source } from '@eph/contract';
import { identify } from '../desired/identity.ts';
import { planDestroy } from '../plan/diff.ts';
import { withoutReasons } from '../provider/observe.ts';
import { projectOf } from './context.ts';
import { CrossReferences } from './cross-references.ts';
import { considerSource, decideSources } from './decide.ts';
import { draftEnvironment, type Request } from './draft.ts';
import type { Loop } from './loop.ts';
import { chooseNewName } from './names.ts';
import { unreadable } from './outcome.ts';
import { findSurplus, type Surplus } from './removal.ts';

export interface Preview {
  readonly plans: readonly Plan[];
  readonly faults: readonly Failure[];
}

/** What the next pass would do: everything is read, nothing is done. */
export const previewAll = async (loop: Loop, isAsked: (project: ProjectId) => boolean, signal: AbortSignal): Promise<Preview> => {
  const previews: Preview[] = [];
  for (const id of [...loop.context.projects.keys()].filter(isAsked)) previews.push(await previewProject(loop, id, signal));
  const plans = previews.flatMap((one) => one.plans);
  return { plans: plans.filter(({ actions }) => actions.length > 0), faults: previews.flatMap((one) => one.faults) };
};

const previewProject = async (loop: Loop, id: ProjectId, signal: AbortSignal): Promise<Preview> => {
  const { context, records } = loop;
  const observed = await loop.observer.observe({ project: id }, signal);
  const sources = await projectOf(context, id).forge.sources(signal);
  const decided = await decideSources(loop, id, sources, signal);
  const { surplus, guard } = findSurplus(loop, id, sources, decided, observed);
  const incomplete = withoutReasons(observed.incomplete);
  const byId = new Map(observed.items.map((one) => [one.identity.id, one]));
  const plans: Plan[] = [];
  for (const { environment, made: source, decision } of decided.values()) {
    const seen = environment === undefined ? undefined : byId.get(environment);
    if (environment === undefined || (seen === undefined && decision.state === 'unknown')) continue;
    const record = records.get(environment);
    const name = seen?.identity.name ?? record?.name ?? chooseNewName(loop, environment, source, decision);
    const { because } = decision;
    const reading = { observed: seen, incomplete };
    const isLeftAlone = decision.state !== 'wanted' || (record !== undefined && unreadable(record, reading) !== undefined);
    const actions: readonly Action[] = isLeftAlone
      ? [{ type: 'wait', code: 'spec.unreadable', reason: because }]
      : await planRequest(loop, { name, source, decision }, reading, signal);
    plans.push({ environment, name, wanted: decision.state === 'unknown' ? null : true, because, actions });
  }
  plans.push(...surplus.map((one) => planRemoval(one, guard)));
  return { plans, faults: [...sources.faults, ...incomplete.values()] };
};

/**
 * What would be done for one source as it is, or as it would be with other labels, another commit or another file. Whoever asks
 * may have written that file, so environments and names of other projects than the visible ones do not exist for it.
 */
export const previewSource = async (
  whole: Loop,
  asked: Source,
  file: ParsedSpec | undefined,
  isVisible: (project: ProjectId) => boolean,
  signal: AbortSignal,
): Promise<Plan> => {
  const loop = { ...whole, references: visibleReferences(whole, isVisible) };
  const { decision, at } = await considerSource(loop, asked, signal, file);
  const source = at === undefined ? asked : { ...asked, commit: at };
  const environment = identify(asked.project, asked.ref);
  const reading = await loop.observer.environment(environment, signal);
  const known = reading.observed?.identity.name ?? loop.records.get(environment)?.name;
  const name = known ?? chooseNewName(loop, environment, source, decision, isVisible);
  const { because } = decision;
  const plan = (wanted: Plan['wanted'], actions: readonly Action[]): Plan => ({ environment, name, wanted, because, actions });
  if (decision.state === 'unknown') return plan(null, [{ type: 'wait', code: decision.fault.code, reason: because }]);
  if (decision.state === 'unwanted') {
    const removals = reading.observed === undefined ? [] : planDestroy(reading.observed, because);
    return plan(false, [...[...reading.incomplete.values()].map(toWait), ...removals]);
  }
  return plan(true, await planRequest(loop, { name, source, decision }, reading, signal));
};

const visibleReferences = ({ context, records }: Loop, isVisible: (project: ProjectId) => boolean): CrossReferences =>
  new CrossReferences(records, (label) => {
    const id = context.ownerOf(label);
    const project = id && records.get(id)?.project;
    return project !== undefined && isVisible(project) ? id : undefined;
  });

const planRequest = async (
  loop: Loop,
  request: Request,
  reading: Parameters<typeof draftEnvironment>[2],
  signal: AbortSignal,
): Promise<readonly Action[]> => {
  const { specFaults, failures, actions } = await draftEnvironment(loop, request, reading, signal);
  return [...[...specFaults, ...failures].map(toWait), ...actions];
};

const toWait = ({ code, message }: Failure): Action => ({ type: 'wait', code, reason: message });

const planRemoval = ({ observed, decision: { because } }: Surplus, guard: ReturnType<typeof findSurplus>['guard']): Plan => {
  const { id: environment, name } = observed.identity;
  const reason = guard.held.has(environment) ? 'held until an operator releases it' : 'the readings are incomplete';
  const actions: readonly Action[] = guard.permitted.has(environment)
    ? planDestroy(observed, because)
    : [{ type: 'wait', code: 'plan.held', reason }];
  return { environment, name, wanted: false, because, actions };
};
