import { z } from 'zod';

/** Values as they are written in a query. */

export const flag = z
  .enum(['true', 'false'])
  .transform((text) => text === 'true')
  .optional();

export const whole = (least: number, most: number) =>
  z
    .stringFormat('whole', /^\d{1,9}$/)
    .transform(Number)
    .refine((number) => number >= least && number <= most, `must be a whole number from ${least} to ${most}`)
    .meta({ override: { type: 'integer', minimum: least, maximum: most } });
