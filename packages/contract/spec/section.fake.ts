import { z } from 'zod';
import { type ComponentKind, section } from './section.ts';

const extra = z.strictObject({
  env: z.record(z.string(), z.string()).optional(),
  data: z.literal(true).optional(),
  image: z.string().optional(),
});
const kindOf = ({ data }: z.output<typeof extra>): ComponentKind =>
  data === true ? { name: 'Chest', holdsData: true } : { name: 'Toy' };

/** A section beside those that ship: a provider of type `toy` makes its components, in every environment that names some. */
export const extrasSection = section({
  name: 'extras',
  schema: z.record(z.string(), extra),
  available: true,
  verbatim: ['*.env'],
  provider: 'toy',
  components: (extras) =>
    Object.entries(extras).map(([name, one]) => ({
      name,
      kind: kindOf(one),
      values: { env: one.env ?? {}, ...(one.image !== undefined && { image: one.image }) },
      path: [name],
    })),
});
