import { existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import {
  type ComponentName,
  completeReading,
  type EnvironmentId,
  EphError,
  type Isolation,
  incompleteReading,
  providerName,
  silentLog,
  toFailure,
} from '@eph/contract';
import type { Provider, Scope } from '@eph/engine/provider/provider';
import type { Context, ProcessProviderOptions } from './context.ts';
import { DiskQuota, freeOn } from './disk-quota.ts';
import type { Environment } from './environment.ts';
import { Environments } from './environments.ts';
import { toDiskError } from './faults.ts';
import { followLogs } from './follow-logs.ts';
import { Layout } from './layout.ts';
import { defaultLimits } from './limits.ts';
import { Listeners } from './listeners.ts';
import { LogRotation } from './log-rotation.ts';
import { Monitor } from './monitor.ts';
import { endOrphans } from './orphans.ts';
import { PackageCaches } from './package-caches.ts';
import { Ports } from './ports.ts';
import { repeat } from './repeat.ts';
import { Scratch } from './scratch.ts';
import { parseService } from './service.ts';
import { Sessions } from './sessions.ts';
import { createProcesses } from './this-machine.ts';
import { checkDirectory } from './trees.ts';

/** Closing stops looking after services; the services go on, and the next provider over the folder finds them. */
export type ProcessProvider = Provider & AsyncDisposable;

const checkEveryMs = 1_000;
const sweepEveryMs = 60_000;

interface Opened {
  readonly context: Context;
  readonly environments: Environments;
}

/** Components as plain processes on the machine of ephd. Nothing happens before the first call. */
export const createProcessProvider = (options: ProcessProviderOptions): ProcessProvider => {
  const { name = providerName('process') } = options;
  const closed = new AbortController();
  const listeners = new Set<(environment: EnvironmentId) => void>();
  let opening: Promise<Opened> | undefined;

  /** Not at once: whoever listens may call back, and what changed is still in the middle of it. */
  const announce = (id: EnvironmentId): void => {
    for (const listener of listeners) queueMicrotask(() => listeners.has(listener) && listener(id));
  };

  const open = (): Promise<Opened> => {
    opening ??= openFolder(options, announce, closed.signal).catch((error: unknown) => {
      opening = undefined;
      throw toDiskError(error, `The data folder ${options.folder} cannot be opened`);
    });
    return opening;
  };

  return {
    name,
    type: 'process',
    isolation: withLimits(options),
    holdsSecrets: false,

    async list(scope) {
      try {
        const { environments } = await open();
        const faults = await environments.refresh('environment' in scope ? scope.environment : undefined);
        const items = inScope(environments, scope).map((one) => one.observe(name, 'parts' in scope));
        return faults.length === 0 ? completeReading(items) : incompleteReading(items, ...faults);
      } catch (error) {
        return incompleteReading([], toFailure(error));
      }
    },

    async ensure(identity, component, signal) {
      signal.throwIfAborted();
      const service = parseService(component);
      checkDirectory(service.directory ?? '.');
      await describeFaults(`Component ${component.name}`, async () => {
        const { environments } = await open();
        const either = AbortSignal.any([signal, closed.signal]);
        const found = await environments.obtain(identity, component.name, either);
        await found.ensure(component, service, either);
      });
    },

    async remove(identity, component, signal) {
      signal.throwIfAborted();
      await describeFaults(`Component ${component}`, async () => {
        const { environments } = await open();
        await environments.remove(identity, component, AbortSignal.any([signal, closed.signal]));
      });
    },

    async hold(identity, held, signal) {
      signal.throwIfAborted();
      await describeFaults(`Environment ${identity.name}`, async () => (await open()).environments.hold(identity, held));
    },

    async usage(environment) {
      const { context, environments } = await open();
      return environments.get(environment)?.measure(await context.processes.readAll()) ?? new Map();
    },

    async *logs(environment, component, logOptions) {
      const { environments } = await open();
      const find = () => environments.get(environment)?.component(component);
      if (find() === undefined) throw noComponent(environment, component);
      if (logOptions.previous === true) yield* followLogs(() => find()?.previousLogs, { ...logOptions, follow: false });
      else yield* followLogs(() => find()?.logs, logOptions);
    },

    async exec(environment, component, request) {
      const found = (await open()).environments.get(environment)?.component(component);
      if (found === undefined) throw noComponent(environment, component);
      return await found.exec(request);
    },

    async connect(environment, component, port, signal) {
      const found = (await open()).environments.get(environment)?.component(component);
      if (found === undefined) throw noComponent(environment, component);
      return await found.connect(port, signal);
    },

    watch(changed, signal) {
      if (signal.aborted) return;
      const listener = (id: EnvironmentId): void => changed(id);
      listeners.add(listener);
      signal.addEventListener('abort', () => listeners.delete(listener), { once: true });
    },

    async [Symbol.asyncDispose]() {
      closed.abort();
      const opened = await opening?.catch(() => undefined);
      opened?.environments.letGo();
      await opened?.context.sessions.untilEnded();
      opened?.context.rotation.close();
      opened?.context.listeners.close();
    },
  };
};

const noComponent = (environment: EnvironmentId, component: ComponentName): EphError =>
  new EphError('api.not_found', `There is no component ${component} in environment ${environment}.`);

const withLimits = ({ sandbox: { isolation }, cgroups: { lacks: limits } }: ProcessProviderOptions): Isolation =>
  isolation.state === 'trusted' || limits === undefined ? isolation : { ...isolation, lacks: { ...isolation.lacks, limits } };

const openFolder = async (
  options: ProcessProviderOptions,
  changed: (environment: EnvironmentId) => void,
  closed: AbortSignal,
): Promise<Opened> => {
  closed.throwIfAborted();
  mkdirSync(options.folder, { recursive: true, mode: 0o700 });
  const layout = new Layout(realpathSync(options.folder));
  if (!existsSync(layout.sentinel)) writeFileSync(layout.sentinel, '{"format":1}\n', { mode: 0o600 });
  const {
    log = silentLog,
    now = Date.now,
    exportTree,
    variables,
    sandbox,
    cgroups,
    budget,
    secretOf = () => undefined,
    urlOf = () => '',
  } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const processes = createProcesses();
  const scratch = new Scratch(layout.scratch);
  const context: Context = {
    layout,
    limits,
    processes,
    monitor: new Monitor(processes),
    listeners: new Listeners(),
    ports: new Ports(limits.ports),
    rotation: new LogRotation(limits.logBytes, log),
    scratch,
    caches: new PackageCaches(layout, scratch, budget.cacheBytes, log),
    sessions: new Sessions(processes, sandbox, log),
    log,
    variables,
    secretOf,
    urlOf,
    sandbox,
    cgroups,
    budget,
    now,
    exportTree,
    changed,
  };
  context.scratch.open();
  const environments = new Environments(context, closed);
  await environments.refresh();
  startBackground(context, environments, closed);
  return { context, environments };
};

const startBackground = (context: Context, environments: Environments, closed: AbortSignal): void => {
  const { monitor, scratch, cgroups, layout, budget, log } = context;
  const quota = new DiskQuota(budget, () => freeOn(layout.root));
  void repeat(checkEveryMs, 'checking processes', () => monitor.check(), log, closed);
  void repeat(checkEveryMs, 'measuring the disk', () => quota.check(() => environments.all), log, closed);
  void repeat(sweepEveryMs, 'ending orphans', () => endOrphans(context, environments, closed), log, closed);
  void repeat(sweepEveryMs, 'removing rubbish', () => scratch.sweep(), log, closed);
  const collect = (): void => cgroups.collect(new Set(environments.all.map(({ identity }) => identity.id)));
  void repeat(checkEveryMs, 'removing cgroups', collect, log, closed);
};

const inScope = (environments: Environments, scope: Scope): readonly Environment[] => {
  if ('environment' in scope) return [environments.get(scope.environment)].filter((one) => one !== undefined);
  if ('project' in scope) return environments.all.filter((one) => one.identity.project === scope.project);
  return environments.all;
};

const describeFaults = async (what: string, effect: () => Promise<void>): Promise<void> => {
  try {
    await effect();
  } catch (error) {
    throw toDiskError(error, what);
  }
};
