import { z } from 'zod';

/** Values as they are written in a query. */

export const flag = z
  .enum(['true', 'false'])
  .transform((text) => text === 'true')
  .optional();

export const whole = (most: number) =>
  z
    .stringFormat('whole', /^\d{1,9}$/)
    .transform(Number)
    .refine((number) => number <= most, `must be at most ${most}`)
    .meta({ override: { type: 'integer', minimum: 0, maximum: most } });
