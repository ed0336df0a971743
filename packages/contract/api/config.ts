import { z } from 'zod';
import type { JsonValue } from '../environment.ts';
import { layerNames } from '../layers.ts';

const fault = z.object({
  file: z.string(),
  line: z.number(),
  column: z.number(),
  path: z.string(),
  message: z.string(),
});

const notice = z.object({ path: z.string(), line: z.number(), column: z.number(), message: z.string() });

const sentences = {
  /** Limits that are exceeded. */
  violations: z.array(z.string()),
  /** What else keeps it from being made, such as a provider that is not configured. */
  problems: z.array(z.string()),
  /** What people should know, such as a fallback in use. */
  remarks: z.array(z.string()),
};

export const validationSchema = z.object({
  /** No fault, no violation and no problem. */
  valid: z.boolean(),
  faults: z.array(fault),
  notices: z.array(notice),
  ...sentences,
});
export type ValidationView = z.output<typeof validationSchema>;

const json: z.ZodType<JsonValue> = z.json();

const origin = z.object({
  layer: z.enum(layerNames),
  file: z.string().nullable(),
  line: z.number().nullable(),
  column: z.number().nullable(),
  commit: z.string().nullable(),
  /** Dotted path of the key in that file. */
  path: z.string(),
});

const value = z.object({
  path: z.array(z.string()),
  /** As it takes effect; a secret shows only as a mask. */
  value: json,
  secret: z.boolean(),
  /** Whether the provider of the component acts on it. */
  used: z.boolean(),
  /** What was written where `value` is what it refers to. */
  reference: z.string().nullable(),
  origin,
  /** The values of lower layers, the nearest first. */
  below: z.array(z.object({ value: json, origin })),
});

export const configViewSchema = z.object({
  id: z.string(),
  name: z.string(),
  project: z.string(),
  /** Of the project; null when its source is gone. */
  commit: z.string().nullable(),
  /** The configuration repository, and whether the reading in force is its newest. */
  configuration: z.object({
    state: z.enum(['none', 'current', 'last-good', 'missing', 'unreadable']),
    commit: z.string().nullable(),
    fault: z.string().nullable(),
  }),
  notices: z.array(notice),
  ...sentences,
  components: z.array(z.object({ name: z.string(), kind: z.string(), provider: z.string(), values: z.array(value) })),
});
export type ConfigView = z.output<typeof configViewSchema>;

/** What the provider of each component is given. */
export const renderedViewSchema = z.object({
  id: z.string(),
  name: z.string(),
  /** Null when its source is gone. */
  commit: z.string().nullable(),
  components: z.array(
    z.object({
      name: z.string(),
      provider: z.string(),
      /** Why it is not applied yet; null when nothing is missing. */
      waits: z.string().nullable(),
      /** With masks for secrets; null while it waits. */
      values: z.record(z.string(), json).nullable(),
    }),
  ),
  problems: z.array(z.string()),
});
export type RenderedView = z.output<typeof renderedViewSchema>;
