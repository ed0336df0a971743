import { z } from 'zod';
import { componentKinds } from '../component-values.ts';
import { distinctNames } from '../rules.ts';
import { list, name, template, text } from '../scalars.ts';
import { section } from '../section.ts';

const internal = z
  .strictObject({
    name: name.describe('The component that this service is.'),
    type: z.literal('internal').describe('Eph runs it.'),
    image: text(500).regex(/^\S*$/, 'must be an image such as redis:7-alpine').describe('The image to run.'),
    persistent: z.boolean().optional().describe('Whether its data outlives a restart. Default `false`.'),
  })
  .describe('A helper that Eph runs beside the services, such as a cache.');

const external = z
  .strictObject({
    name: name.describe('The component that this service is.'),
    type: z.literal('external').describe('It runs elsewhere.'),
    endpoint: template('services.endpoint', 500)
      .refine(
        (text) => text.includes('${') || /^[a-z][a-z0-9+.-]*:\/\/\S+$/i.test(text),
        'must be an address such as https://auth.example.com',
      )
      .describe('Where it is reached.'),
  })
  .describe('Something that exists already and is only referred to.');

const schema = list(z.discriminatedUnion('type', [internal, external]))
  .refine(...distinctNames)
  .describe('Helpers that the services need, each a component.');

export const services = section({
  name: 'services',
  schema,
  components: (all) =>
    all.flatMap((one, index) => {
      const { name: component, type } = one;
      const { Deployment: kind } = componentKinds;
      return type === 'internal' ? [{ name: component, kind, values: { image: one.image }, path: [index] }] : [];
    }),
});
