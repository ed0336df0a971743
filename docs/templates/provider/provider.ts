import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type ComponentVersion,
  completeReading,
  componentName,
  type EnvironmentId,
  EphError,
  type Identity,
  incompleteReading,
  type ObservedComponent,
  type ObservedEnvironment,
  observedEnvironment,
  type ProviderName,
  type ResolvedComponent,
  toFailure,
} from '@eph/contract';
import type { LogEntry, Provider } from '@eph/engine/provider/provider';
import { z } from 'zod';

/** What `eph.yaml` may ask of a component. It comes from others: what the schema does not know is refused. */
const valuesSchema = z.strictObject({ behaviour: z.enum(['gets ready', 'never ready', 'crashes']) });

interface Version {
  readonly component: ResolvedComponent;
  readonly startedAt: number;
}

/** What is known of an environment: all of it is on the infrastructure, here one file for each. */
interface EnvironmentFile {
  readonly identity: Identity;
  readonly held: boolean;
  readonly slots: { readonly [name: string]: { current?: Version | undefined; next?: Version | undefined; retiring: boolean } };
}

/**
 * A provider to begin with. It keeps the whole contract and runs nothing: an environment is a JSON file, and a component gets
 * ready if its values say so. Put your infrastructure in the place of `read`, `write` and `observeVersion`.
 */
export const createTemplateProvider = ({
  name,
  folder,
}: {
  readonly name: ProviderName;
  readonly folder: string;
}): Provider & AsyncDisposable => {
  const watchers = new Set<(environment: EnvironmentId) => void>();
  const pathOf = (id: string): string => join(folder, `${id}.json`);

  const read = (id: string): EnvironmentFile | undefined => {
    if (!existsSync(pathOf(id))) return undefined;
    // This provider alone writes there.
    const file = JSON.parse(readFileSync(pathOf(id), 'utf8')) as EnvironmentFile;
    for (const slot of Object.values(file.slots)) {
      if (slot.next === undefined || behaviourOf(slot.next.component) !== 'gets ready') continue;
      slot.retiring ||= slot.current !== undefined;
      slot.current = slot.next;
      slot.next = undefined;
    }
    return file;
  };

  /** Old or new, never half: somebody may pull the plug here. */
  const write = (file: EnvironmentFile): void => {
    const path = pathOf(file.identity.id);
    mkdirSync(folder, { recursive: true });
    writeFileSync(`${path}.tmp`, JSON.stringify(file));
    if (Object.keys(file.slots).length > 0) renameSync(`${path}.tmp`, path);
    else for (const one of [path, `${path}.tmp`]) rmSync(one, { force: true });
    for (const watcher of watchers) watcher(file.identity.id);
  };

  const observe = ({ identity, held, slots }: EnvironmentFile, parts: boolean): ObservedEnvironment => {
    const components = Object.entries(slots).map(([slotName, { current, next, retiring }]): ObservedComponent => {
      const { entry = false, dependsOn = [] } = (current ?? next)?.component ?? {};
      const url = current === undefined ? null : `http://${slotName}.invalid`;
      return {
        name: componentName(slotName),
        provider: name,
        entry,
        dependsOn,
        current: current === undefined ? null : observeVersion(current),
        next: next === undefined ? null : observeVersion(next),
        retiring,
        upstream: url,
        outputs: url === null ? {} : { url },
        ...(parts && { parts: [current, next].filter((one) => one !== undefined).map(partOf) }),
      };
    });
    return observedEnvironment({ identity, components, held, complete: true });
  };

  return {
    name,
    type: 'template',
    holdsSecrets: false,
    // It runs nothing. One that runs what others wrote says `trusted` unless it keeps that apart.
    isolation: { state: 'sandboxed', network: 'shared', lacks: {} },

    list(scope) {
      try {
        const files = existsSync(folder) ? readdirSync(folder).filter((file) => file.endsWith('.json')) : [];
        const all =
          'environment' in scope ? [read(scope.environment)] : files.map((file) => read(file.slice(0, -'.json'.length)));
        const found = all.filter((file) => file !== undefined);
        const inScope = 'project' in scope ? found.filter(({ identity }) => identity.project === scope.project) : found;
        return Promise.resolve(completeReading(inScope.map((file) => observe(file, 'parts' in scope))));
      } catch (error) {
        // What cannot be read is unknown, never gone.
        return Promise.resolve(incompleteReading([], toFailure(error)));
      }
    },

    async ensure(identity, component, signal) {
      signal.throwIfAborted();
      behaviourOf(component);
      const file = read(identity.id) ?? { identity, held: false, slots: {} };
      const { current, next, retiring } = file.slots[component.name] ?? { retiring: false };
      const fresh = next?.component.revision === component.revision ? next : { component, startedAt: Date.now() };
      const isCurrent = current?.component.revision === component.revision;
      const slot = isCurrent ? { current, retiring: false } : { current, next: fresh, retiring };
      write({ ...file, slots: { ...file.slots, [component.name]: slot } });
    },

    async remove(identity, component, signal) {
      signal.throwIfAborted();
      const file = read(identity.id);
      if (file === undefined) return;
      const { [component]: _removed, ...slots } = file.slots;
      write({ ...file, slots });
    },

    async hold(identity, held, signal) {
      signal.throwIfAborted();
      const file = read(identity.id);
      if (file !== undefined) write({ ...file, held });
    },

    async usage(environment) {
      const names = Object.keys(read(environment)?.slots ?? {}).map(componentName);
      return new Map(names.map((one) => [one, { cpuSeconds: 0, cpuCores: null, memoryBytes: 0 }]));
    },

    async *logs(environment, component, { tail, since, follow, previous, signal }) {
      if (previous === true) return;
      const { current, next } = read(environment)?.slots[component] ?? {};
      const entries = [current, next].filter((one) => one !== undefined).map(logEntryOf);
      const recent = entries.filter(({ at }) => since === undefined || Date.parse(at ?? '') >= since.getTime());
      if (tail > 0) yield* recent.slice(-tail);
      if (follow && !signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    },

    async exec() {
      throw new EphError('feature.unavailable', 'The template runs nothing.');
    },

    async connect() {
      throw new EphError('feature.unavailable', 'The template listens nowhere.');
    },

    watch(changed, signal) {
      watchers.add(changed);
      signal.addEventListener('abort', () => watchers.delete(changed), { once: true });
    },

    async [Symbol.asyncDispose]() {
      watchers.clear();
    },
  };
};

const behaviourOf = ({ name, values }: ResolvedComponent): z.output<typeof valuesSchema>['behaviour'] => {
  const parsed = valuesSchema.safeParse(values);
  if (!parsed.success) throw new EphError('component.refused', `Component ${name}: ${z.prettifyError(parsed.error)}`);
  return parsed.data.behaviour;
};

const observeVersion = ({ component, startedAt }: Version): ComponentVersion => {
  const isReady = behaviourOf(component) === 'gets ready';
  return {
    revision: component.revision,
    commit: component.commit,
    ...(component.images && { images: component.images }),
    health: isReady ? 'ready' : 'failing',
    message: isReady ? '' : 'It does not get ready.',
    since: new Date(startedAt).toISOString(),
  };
};

const partOf = (version: Version) => {
  const { revision: instance, message } = observeVersion(version);
  const restarts = behaviourOf(version.component) === 'crashes' ? Math.floor((Date.now() - version.startedAt) / 100) : 0;
  return { instance, image: null, restarts, message };
};

const logEntryOf = ({ component, startedAt }: Version): LogEntry => ({
  at: new Date(startedAt).toISOString(),
  part: component.revision,
  text: `started ${component.commit}`,
});
