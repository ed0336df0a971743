import childProcess from 'node:child_process';
import { subscribe } from 'node:diagnostics_channel';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { DatabaseSync, StatementSync } from 'node:sqlite';

/**
 * A point exactly before or after a step. A step is one effect outside the process: a file written, renamed or removed, a process
 * started or signalled, a database statement, a request that changes a cluster. The functions of Node that cause them are wrapped before
 * ephd is loaded, so ephd needs no test switch and runs its normal code.
 */
export interface Boundary {
  /** As `record` wrote it. */
  readonly step: string;
  readonly side: 'before' | 'after';
  /** Counted since the start of ephd, from 1. */
  readonly occurrence: number;
}

export const interrupt = (dataFolder: string, { step, side, occurrence }: Boundary): void => {
  const kill = process.kill.bind(process);
  let seen = 0;
  watchSteps(dataFolder, (made, when) => {
    if (made !== step || when !== side) return;
    seen += 1;
    if (seen === occurrence) kill(process.pid, 'SIGKILL');
  });
};

export const record = (dataFolder: string, file: string): void => {
  const descriptor = fs.openSync(file, 'a');
  const { writeSync } = fs;
  watchSteps(dataFolder, (made, when) => {
    if (when === 'before') writeSync(descriptor, `${made}\n`);
  });
};

type Effect = (this: unknown, ...args: readonly unknown[]) => unknown;
type Visit = (step: string, side: Boundary['side']) => void;
/** The name of the step that a call makes, or undefined if it has no relevant effect. */
type Describe = (args: readonly unknown[], self: unknown) => string | undefined;

const onFiles = ['writeFile', 'rename', 'rm', 'mkdir', 'symlink', 'chmod', 'ftruncate', 'fsync'];

const watchSteps = (dataFolder: string, visit: Visit): void => {
  const describePaths =
    (name: string): Describe =>
    (args) => {
      const paths = args
        .filter((one): one is string => typeof one === 'string' && one.startsWith(dataFolder))
        .map((one) => generalise(one, dataFolder));
      return paths.length > 0 || typeof args[0] === 'number' ? [name, ...paths].join(' ') : undefined;
    };
  const describeOpen: Describe = (args) =>
    args[1] === 'r' || args[1] === undefined ? undefined : describePaths('open')(args, undefined);
  for (const name of onFiles) {
    wrap(fs, `${name}Sync`, describePaths(name), visit);
    wrap(fs.promises, name, describePaths(name), visit);
  }
  wrap(fs, 'openSync', describeOpen, visit);
  wrap(fs.promises, 'open', describeOpen, visit);
  wrap(childProcess, 'spawn', describeSpawn, visit);
  wrap(process, 'kill', ([, signal]) => (signal === 0 ? undefined : `signal ${String(signal)}`), visit);
  wrap(DatabaseSync.prototype, 'exec', ([text]) => `sql ${firstWords(String(text))}`, visit);
  wrap(
    StatementSync.prototype,
    'run',
    (_, self) => (self instanceof StatementSync ? `sql ${firstWords(self.sourceSQL)}` : undefined),
    visit,
  );
  watchRequests(visit);
  syncBuiltinESMExports();
};

/** Before a request is sent, and after its answer has begun. */
const watchRequests = (visit: Visit): void => {
  for (const [moment, side] of [['create', 'before'] as const, ['headers', 'after'] as const])
    subscribe(`undici:request:${moment}`, (message) => {
      const { method, path } = (message as { readonly request: { readonly method: string; readonly path: string } }).request;
      if (method !== 'GET' && /^\/apis?\//.test(path)) visit(`${method} ${generaliseRequest(path)}`, side);
    });
};

const generaliseRequest = (path: string): string => path.replace(/\?.*/, '').replace(/(\/namespaces)\/[^/]+/, '$1/<namespace>');

const wrap = (holder: object, name: string, describe: Describe, visit: Visit): void => {
  const original = Reflect.get(holder, name) as Effect | undefined;
  if (original === undefined) return;
  const wrapped: Effect = function (...args) {
    const step = describe(args, this);
    if (step === undefined) return original.apply(this, [...args]);
    visit(step, 'before');
    const result = original.apply(this, [...args]);
    if (!(result instanceof Promise)) {
      visit(step, 'after');
      return result;
    }
    return result.then((value: unknown) => {
      visit(step, 'after');
      return value;
    });
  };
  Reflect.set(holder, name, wrapped);
};

const describeSpawn: Describe = ([command, args]) => {
  if (command !== 'git') return 'spawn service';
  const words = Array.isArray(args) ? (args as readonly string[]) : [];
  return `spawn git ${words.find((word) => /^[a-z]/.test(word)) ?? ''}`;
};

const firstWords = (text: string): string => text.split(/\s+/, 3).join(' ');

/** Replaces variable parts with placeholders, so that the same step always has the same name. */
const generalise = (path: string, dataFolder: string): string =>
  path
    .slice(dataFolder.length + 1)
    .replace(/\.scratch\/[0-9a-f]{16}/, '.scratch/<folder>')
    .replace(/^process\/[0-9a-f]{16}/, 'process/<environment>')
    .replace(/\b[0-9a-f]{40}\b/, '<commit>')
    .replace(/components\/[^/]+\/[0-9a-f]{8}\b/, 'components/<component>/<instance>')
    .replace(/components\/[^/<]+/, 'components/<component>')
    .replace(/(<folder>\.partial)\/.+/, '$1/<file>');
