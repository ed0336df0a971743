import { type ConfigView, type EnvironmentId, EphError, type ObservedComponent, type RenderedView } from '@eph/contract';
import { soundSpecOf } from '../desired/decisions.ts';
import { printSource } from '../desired/printed-names.ts';
import { explain } from '../plan/explain.ts';
import { explainPolling } from '../polling/polling-state.ts';
import { type EnvironmentReading, withoutReasons } from '../provider/observe.ts';
import { explainEnvironment } from '../values/environment.ts';
import { showValues } from '../values/shown-values.ts';
import { draftEnvironment, environmentInput } from './draft.ts';
import type { Loop } from './loop.ts';
import { newIdentity } from './names.ts';
import { isOn } from './record.ts';
import { renderFile } from './render-file.ts';

/** What `eph config explain` shows of one environment. */
export type ExplainedValues = Pick<
  ConfigView,
  'configuration' | 'notices' | 'components' | 'violations' | 'problems' | 'remarks'
>;

/**
 * An environment as its providers show it this moment, with what runs for it. What they cannot show now is as it was seen last.
 * Nothing follows from it.
 */
export const look = async ({ observer, records }: Loop, id: EnvironmentId, signal: AbortSignal): Promise<EnvironmentReading> => {
  const { observed: seen, incomplete } = await observer.look(id, signal);
  const last = records.get(id)?.observed;
  const shown = seen?.components ?? [];
  const isUnknown = ({ provider, name }: ObservedComponent): boolean =>
    (incomplete.has(provider) || seen?.complete === false) &&
    !shown.some((one) => one.provider === provider && one.name === name);
  const kept = last?.components.filter(isUnknown) ?? [];
  const environment = seen ?? last;
  return { observed: environment && { ...environment, components: [...shown, ...kept] }, incomplete };
};

/** Why an environment exists, waits or goes. */
export const explainWhy = ({ context, records, polling }: Loop, id: EnvironmentId): readonly string[] | undefined => {
  const record = records.get(id);
  if (record === undefined) return undefined;
  const polled = polling.states().get(record.project);
  const away = [...withoutReasons(records.away)].filter(([name]) => isOn(record.observed, new Set([name])));
  return explain({
    sourceName: printSource(record.ref),
    commit: record.source?.commit,
    decision: record.decision.state,
    because: record.decision.because,
    exists: record.observed !== undefined,
    held: record.held,
    actions: record.actions,
    status: record.status,
    away: away.map(([, { message }]) => message),
    polling: polled && explainPolling(polled),
    unconfined: [...context.providers.values()].flatMap(({ name, isolation }) =>
      isolation.state === 'trusted' && isOn(record.observed, new Set([name])) ? [isolation.because] : [],
    ),
  });
};

/** What `eph render` shows of one environment. */
export type RenderedValues = Pick<RenderedView, 'components' | 'problems'>;

/** What the provider of each component would be given now. */
export const renderValues = async (loop: Loop, id: EnvironmentId, signal: AbortSignal): Promise<RenderedValues> => {
  const record = loop.records.get(id);
  if (record?.source === undefined || record.decision.state !== 'wanted')
    throw new EphError('api.conflict', `nothing is applied: ${record?.decision.because ?? 'it is not known'}`);
  const { name, source, decision } = record;
  const reading = await loop.observer.environment(id, signal);
  const { components, actions, specFaults, failures } = await draftEnvironment(loop, { name, source, decision }, reading, signal);
  const waits = actions.flatMap((action) => (action.type === 'wait' ? [action] : []));
  return {
    components: [
      ...components.map((one) => ({ name: one.name, provider: one.provider, waits: null, values: showValues(one) })),
      ...waits.flatMap(({ component, reason }) =>
        component === undefined || components.some((one) => one.name === component)
          ? []
          : [{ name: component, provider: '', waits: reason, values: null }],
      ),
    ],
    problems: [
      ...[...specFaults, ...failures].map(({ message }) => message),
      ...waits.flatMap(({ component, reason }) => (component === undefined ? [reason] : [])),
    ],
  };
};

/** Where the values of an environment come from. Throws where that cannot be said. */
export const explainValues = async (loop: Loop, id: EnvironmentId, signal: AbortSignal): Promise<ExplainedValues> => {
  const { context, records, platform } = loop;
  const record = records.get(id);
  const parsed = record && soundSpecOf(record.decision);
  if (record?.source === undefined || parsed === undefined)
    throw new EphError('api.conflict', `eph.yaml cannot be understood: ${record?.status?.summary ?? 'it has not been read yet'}`);
  await platform.untilConfigured(signal);
  const { project, source, observed, name } = record;
  const inForce = platform.inForce(project);
  const { state, commit, faults: unread } = inForce;
  const configuration = { state, commit, fault: unread[0]?.message ?? null };
  const notices = [...parsed.notices];
  if (!('layers' in inForce)) return { configuration, notices, components: [], violations: [], problems: [], remarks: [] };
  const identity = observed?.identity ?? newIdentity(context, name, source);
  const rendered = await renderFile(loop, parsed, source, observed?.components ?? [], signal);
  const faults = rendered.state === 'refused' ? rendered.faults : rendered.state === 'unknown' ? [rendered.failure] : [];
  const file = rendered.state === 'rendered' ? rendered : { parsed, notices: [] };
  const explained = explainEnvironment({
    ...environmentInput(loop, file.parsed, source, identity, observed),
    configuration: inForce,
  });
  return {
    configuration,
    notices,
    ...explained,
    problems: [...faults.map(({ message }) => message), ...explained.problems],
    remarks: [...explained.remarks, ...file.notices],
  };
};
