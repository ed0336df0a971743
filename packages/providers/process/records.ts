import { closeSync, constants, fsync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { type ComponentName, type Identity, recordedIdentity, recordedIds, recordedImages } from '@eph/contract';
import { z } from 'zod';
import { isAbsent, sentence } from './faults.ts';
import { plainFile, readPlainFile } from './file-range.ts';
import { serviceSchema } from './service.ts';

/**
 * `corrupt` will never be readable and may be replaced; `unreadable` may be readable later, or by a newer ephd, and may not.
 */
export type ReadRecord<T> =
  | { readonly state: 'read'; readonly record: T }
  | { readonly state: 'absent' }
  | { readonly state: 'corrupt' | 'unreadable'; readonly why: string };

const format = 1;

export const instanceId = /^[0-9a-f]{8}$/;

/** What is known of an environment besides its components. */
export interface EnvironmentRecord {
  readonly identity: Identity;
  readonly held: boolean;
}

const environmentSchema = recordedIdentity
  .extend({ held: z.boolean().default(false) })
  .transform(({ held, ...identity }) => ({ identity, held }));

const processSchema = z.object({
  pid: z.int().min(2),
  startTime: z.string(),
  bootId: z.string(),
  isSandboxed: z.boolean().exactOptional(),
});

/** How far the preparation of a checkout is. */
export type PreparationRecord = Readonly<z.output<typeof preparationSchema>>;

const preparationSchema = z.discriminatedUnion('state', [
  z.object({ state: z.literal('running'), process: processSchema }),
  z.object({ state: z.literal('finished'), seconds: z.number(), saved: z.number().exactOptional() }),
  z.object({ state: z.literal('failed'), message: z.string() }),
]);

export const readPreparation = (path: string): ReadRecord<PreparationRecord> => readRecord(path, preparationSchema);

/** One start of one version. It keeps its id and its log through restarts of the process. */
export type InstanceRecord = Readonly<z.output<typeof instanceSchema>>;

const instanceSchema = z.object({
  id: z.string().regex(instanceId),
  revision: recordedIds.revision,
  commit: recordedIds.commit,
  images: recordedImages.exactOptional(),
  entry: z.boolean(),
  dependsOn: z.array(recordedIds.component).readonly(),
  service: serviceSchema,
  port: z.int().min(1).max(65_535),
  network: z.object({ reaches: z.array(z.int()).readonly() }).exactOptional(),
  budget: z.object({ cpu: z.number().exactOptional(), memoryBytes: z.number().exactOptional() }).exactOptional(),
  /** What it writes is given to nobody else. */
  fromFork: z.literal(true).exactOptional(),
  /** It runs nowhere but in a sandbox. */
  isConfined: z.boolean().default(false),
  createdAt: z.string(),
  /** When it took over; null until then. */
  readyAt: z.string().nullable(),
  /** Null from the intent to start it until it is known. */
  process: processSchema.nullable(),
});

/** All that is known of a component. One file, replaced as a whole, so that versions change places in one step. */
export type ComponentRecord = Readonly<z.output<typeof componentSchema>>;

const componentSchema = z.object({
  name: recordedIds.component,
  current: instanceSchema.nullable(),
  next: instanceSchema.nullable(),
  retiring: z.array(instanceSchema).readonly(),
});

/** Known by name, and nothing done for it yet. */
export const emptyComponent = (name: ComponentName): ComponentRecord => ({ name, current: null, next: null, retiring: [] });

export const readEnvironment = (path: string): ReadRecord<EnvironmentRecord> => readRecord(path, environmentSchema);

export const readComponent = (path: string, name: ComponentName): ReadRecord<ComponentRecord> => {
  const read = readRecord(path, componentSchema);
  // Records are replaced as a whole, so an empty one was emptied by the machine going down, and nothing of it runs any more.
  if (read.state === 'corrupt' && read.why === '') return { state: 'read', record: emptyComponent(name) };
  return read;
};

const readRecord = <T>(path: string, schema: z.ZodType<T>): ReadRecord<T> => {
  let text: string;
  try {
    text = readPlainFile(path);
  } catch (error) {
    return isAbsent(error) ? { state: 'absent' } : { state: 'unreadable', why: sentence(error) };
  }
  if (text === '') return { state: 'corrupt', why: '' };
  try {
    const envelope = z.object({ format: z.int(), record: z.unknown() }).parse(JSON.parse(text));
    if (envelope.format > format) return { state: 'unreadable', why: `${path} was written by a newer version of Eph` };
    return { state: 'read', record: schema.parse(envelope.record) };
  } catch (error) {
    const why = error instanceof z.ZodError ? z.prettifyError(error) : sentence(error);
    return { state: 'corrupt', why: `${path} is damaged: ${why}` };
  }
};

/**
 * Old or new, never half: also when ephd or the disk gives up in the middle. A durable one survives that the machine goes down a
 * moment later. That takes milliseconds of the disk, which nobody waits for.
 */
export const writeRecord = (
  path: string,
  record: (Identity & { readonly held?: boolean }) | ComponentRecord | PreparationRecord,
  options: { durable: boolean },
): void => {
  const draft = `${path}.tmp`;
  try {
    const file = openSync(draft, constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | plainFile, 0o600);
    try {
      writeFileSync(file, `${JSON.stringify({ format, record })}\n`);
      renameSync(draft, path);
    } finally {
      if (options.durable) fsync(file, () => closeSync(file));
      else closeSync(file);
    }
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
};
