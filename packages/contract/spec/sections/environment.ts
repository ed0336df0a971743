import { z } from 'zod';
import { fold, notAbove, notBoth } from '../rules.ts';
import { duration, quantity, template, variables } from '../scalars.ts';
import { images } from './images.ts';

const resources = z
  .strictObject({
    cpu_request: quantity.optional().describe('Processor time that each component is given at least, in cores.'),
    cpu_limit: quantity.optional().describe('Processor time that each component is given at most, in cores.'),
    memory_request: quantity.optional().describe('Memory that each component is given at least, in bytes.'),
    memory_limit: quantity.optional().describe('Memory that each component is given at most, in bytes.'),
  })
  .refine(...notAbove('cpu_request', 'cpu_limit'))
  .refine(...notAbove('memory_request', 'memory_limit'))
  .describe('Processor time and memory of components that give none themselves.');

const nameTemplate = template('environment.name_template');
const subdomainTemplate = template('environment.subdomain_template');

const schema = z
  .strictObject({
    name_template: nameTemplate
      .optional()
      .describe(
        'How new environments are named. A name begins with the name of the project in ephd; where the template does not, it is put in front. Existing environments keep their name. Default: that name, `{words}` and `{number}`.',
      ),
    name: nameTemplate.optional().describe('Short for `name_template`.'),
    subdomain_template: subdomainTemplate.optional().describe('The host name of an environment. Default `{name}.{base_domain}`.'),
    domain: subdomainTemplate.optional().describe('Short for `subdomain_template`.'),
    base_domain: template('environment.base_domain').optional().describe('The domain under which environments are reached.'),
    alias_template: template('environment.alias_template').optional().describe('A second name that leads to the first.'),
    ttl: duration()
      .optional()
      .describe(
        'How long an environment of a pull request lives after its label was added, such as `72h`. Then the label is taken away.',
      ),
    idle_timeout: duration().optional().describe('After this long without visitors an environment goes to sleep.'),
    wake_on_access: z.boolean().optional().describe('Whether a visitor wakes a sleeping environment.'),
    resources: resources.optional(),
    env: variables.optional().describe('Variables for every service.'),
    images: images.optional(),
  })
  .refine(...notBoth('name', 'name_template'))
  .refine(...notBoth('domain', 'subdomain_template'))
  .transform((written) => fold(fold(written, 'name', 'name_template'), 'domain', 'subdomain_template'))
  .describe('What holds for the environment as a whole.');

const available = {
  name_template: true,
  name: true,
  ttl: true,
  env: true,
  images: true,
  resources: { '*': true, cpu_request: 'limited', memory_request: 'limited' },
} as const;
export const environment = { name: 'environment', schema, available, verbatim: ['env'], open: ['env', 'resources'] } as const;
