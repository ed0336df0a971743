import { z } from 'zod';
import { section } from './section.ts';

const extra = z.strictObject({ env: z.record(z.string(), z.string()).optional() });

/** A section beside those that ship: a provider of type `toy` makes its components, in every environment that names some. */
export const extrasSection = section({
  name: 'extras',
  schema: z.record(z.string(), extra),
  available: true,
  verbatim: ['*.env'],
  provider: 'toy',
  components: (extras) =>
    Object.entries(extras).map(([name, { env = {} }]) => ({ name, kind: { name: 'Toy' }, values: { env }, path: [name] })),
});
