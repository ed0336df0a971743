import { z } from 'zod';
import type { JsonMap } from '../layers.ts';
import { section } from './section.ts';

const values = z.strictObject({ label: z.string().optional() });

/** A section beside those that ship: components that a provider of type `toy` makes, in every environment that names some. */
export const extrasSection = section({
  name: 'extras',
  schema: z.record(z.string(), values),
  available: true,
  provider: 'toy',
  components: (extras) =>
    Object.entries(extras).map(([name, given]) => ({
      name,
      kind: { name: 'Toy', schema: values },
      values: given as JsonMap,
      path: ['extras', name],
      needs: [],
      entry: false,
    })),
});
