import { z } from 'zod';
import { isMap, notBoth, read } from './rules.ts';
import { name } from './scalars.ts';
import { advanced, testing } from './sections/advanced.ts';
import { database } from './sections/database.ts';
import { dockerCompose } from './sections/docker-compose.ts';
import { environment } from './sections/environment.ts';
import { hooks } from './sections/hooks.ts';
import { kubernetes } from './sections/kubernetes.ts';
import { networking } from './sections/networking.ts';
import { observability } from './sections/observability.ts';
import { process } from './sections/process.ts';
import { secrets } from './sections/secrets.ts';
import { security } from './sections/security.ts';
import { services } from './sections/services.ts';
import { defaultTriggers, triggers } from './sections/triggers.ts';

/** Every provider has a section of its own that says what it is to make. */
const sections = ['process', 'kubernetes', 'docker-compose'] as const;
export type SpecProvider = (typeof sections)[number];

const provider = z.enum(sections);

const providers = z
  .strictObject({
    primary: provider.describe('What makes the environment. Its section must be there.'),
    fallback: provider.optional().describe('What makes it where the primary provider is not to be had.'),
  })
  .refine(({ primary, fallback }) => primary !== fallback, {
    path: ['fallback'],
    message: 'must be another provider than primary',
    when: isMap,
  })
  .describe('Who makes the environment. Without it, the one whose section is there.');

const presentSections = (written: object): readonly SpecProvider[] =>
  sections.filter((section) => Object.hasOwn(written, section));

/** What is missing or ambiguous about who makes the environment. */
const checkProviders = (written: object, context: z.core.$RefinementCtx): void => {
  const refuse = (path: string, message: string, alternatives: readonly string[] = [path]): void =>
    context.addIssue({ code: 'custom', path: [path], message, params: { alternatives } });
  const named = [read(written, 'provider'), ...['primary', 'fallback'].map((key) => read(read(written, 'providers'), key))];
  for (const section of sections)
    if (named.includes(section) && !Object.hasOwn(written, section))
      refuse(section, `is required, because ${section} is to make the environment`);
  if (Object.hasOwn(written, 'provider') || Object.hasOwn(written, 'providers')) return;
  const present = presentSections(written);
  if (present.length === 0) refuse('process', `is required, or ${sections.slice(1).join(', or ')}`, sections);
  if (present.length > 1) refuse('providers', `is required, as there are the sections ${present.join(' and ')}`);
};

/** Components of all sections share one set of names, so that a reference means one of them. */
const checkComponents = (written: object, context: z.core.$RefinementCtx): void => {
  const taken = new Map<unknown, string>();
  const services = read(read(written, 'process'), 'services');
  for (const one of isMap({ value: services }) ? Object.keys(services as object) : []) taken.set(one, 'process.services');
  const lists = [
    { at: ['services'], entries: read(written, 'services') },
    { at: ['database', 'instances'], entries: read(read(written, 'database'), 'instances') },
  ];
  for (const { at, entries } of lists) {
    const names = Array.isArray(entries) ? entries.map((entry) => read(entry, 'name')) : [];
    for (const [index, one] of names.entries())
      if (taken.has(one))
        context.addIssue({ code: 'custom', path: [...at, index, 'name'], message: `is also a component of ${taken.get(one)}` });
    for (const one of names) if (one !== undefined) taken.set(one, at.join('.'));
  }
};

/** `eph.yaml`. What is short in the file is long in the result, and the provider is always named. */
export const specSchema = z
  .strictObject({
    version: z.literal('1.0').describe('The version of this format.'),
    name: name.describe('The project, as it appears in environment names.'),
    providers: providers.optional(),
    provider: provider.optional().describe('Short for `providers.primary`.'),
    triggers: triggers.default(defaultTriggers),
    environment: environment.default({}),
    process: process.optional(),
    kubernetes: kubernetes.optional(),
    'docker-compose': dockerCompose.optional(),
    database: database.optional(),
    services: services.optional(),
    secrets: secrets.optional(),
    security: security.optional(),
    networking: networking.optional(),
    hooks: hooks.optional(),
    observability: observability.optional(),
    advanced: advanced.optional(),
    testing: testing.optional(),
  })
  .refine(...notBoth('provider', 'providers'))
  .superRefine(checkProviders, { when: isMap })
  .superRefine(checkComponents, { when: isMap })
  .transform(({ provider: only, ...written }) => ({
    ...written,
    providers: written.providers ?? { primary: only ?? presentSections(written)[0] ?? 'process' },
  }));

export type Spec = z.output<typeof specSchema>;
export type Trigger = Spec['triggers'][number];
export type ServiceSpec = NonNullable<Spec['process']>['services'][string];
