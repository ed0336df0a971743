import { EphError, parseJson } from '@eph/contract';
import { z } from 'zod';
import type { Platform } from './manifest.ts';

export interface ImageConfig {
  readonly created: Date | undefined;
  readonly labels: { readonly [key: string]: string };
  readonly platform: Platform;
}

const shape = z.object({
  created: z.string().nullish(),
  os: z.string().default(''),
  architecture: z.string().default(''),
  variant: z.string().optional(),
  config: z.object({ Labels: z.record(z.string(), z.string()).nullish() }).nullish(),
});

/** Throws `registry.refused`. `shown` is the image, for messages. */
export const parseImageConfig = (bytes: Buffer, shown: string): ImageConfig => {
  const { data } = shape.safeParse(parseJson(bytes.toString()));
  if (data === undefined) throw new EphError('registry.refused', `${shown} is not an image: its configuration is not valid.`);
  const { created, config, os, architecture, variant } = data;
  return { created: parseTime(created ?? ''), labels: config?.Labels ?? {}, platform: { os, architecture, variant } };
};

const timeForm = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/;

/** What Go writes for no time. */
const noTime = '0001-01-01T00:00:00Z';

const parseTime = (text: string): Date | undefined => {
  const time = new Date(timeForm.test(text) && text !== noTime ? text : Number.NaN);
  return Number.isNaN(time.getTime()) ? undefined : time;
};
