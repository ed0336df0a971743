import { z } from 'zod';
import { isMap, notBoth, read } from './rules.ts';
import { name } from './scalars.ts';
import type { Section } from './section.ts';
import { environment } from './sections/environment.ts';
import { defaultTriggers, triggers } from './sections/triggers.ts';
import type { shippedSections } from './sections.ts';

const providers = z
  .strictObject({
    primary: name.describe('What makes the environment: a type of providers, such as `process`, or the name of one.'),
    fallback: name.optional().describe('Used when the primary provider is not configured.'),
  })
  .refine(({ primary, fallback }) => primary !== fallback, {
    path: ['fallback'],
    message: 'must be another provider than primary',
    when: isMap,
  })
  .describe('Who makes the environment. Without it, a provider of the type whose section is there.');

const namesOf = (sections: readonly Section[]): readonly string[] =>
  sections.filter(({ choice }) => choice).map((one) => one.name);

/** The sections of a file among which a provider chooses. */
export const choicesIn = (sections: readonly Section[], written: object): readonly string[] =>
  namesOf(sections).filter((one) => Object.hasOwn(written, one));

/** What is missing or ambiguous about who makes the environment. Names of providers are known only to the server. */
const checkProviders = (sections: readonly Section[]) => (written: object, context: z.core.$RefinementCtx) => {
  const refuse = (path: string, message: string, alternatives: readonly string[] = [path]): void =>
    context.addIssue({ code: 'custom', path: [path], message, params: { alternatives } });
  const all = namesOf(sections);
  const named = [read(written, 'provider'), ...['primary', 'fallback'].map((key) => read(read(written, 'providers'), key))];
  const missing = all.filter((one) => named.includes(one) && !Object.hasOwn(written, one));
  for (const one of missing) refuse(one, `is required, because ${one} is to make the environment`);
  const present = choicesIn(sections, written);
  if (present.length === 0 && missing.length === 0) refuse(all[0] ?? '', `is required, or ${all.slice(1).join(', or ')}`, all);
  if (present.length > 1 && !Object.hasOwn(written, 'provider') && !Object.hasOwn(written, 'providers'))
    refuse('providers', `is required, as there are the sections ${present.join(' and ')}`);
};

/** `eph.yaml` with these sections. What is short in the file is long in the result, and the provider is always named. */
export const specSchema = (sections: readonly Section[]): z.ZodType<Spec> =>
  z
    .strictObject({
      version: z.literal('1.0').describe('The version of this format.'),
      name: name.describe('The project, as it appears in environment names.'),
      providers: providers.optional(),
      provider: name.optional().describe('Short for `providers.primary`.'),
      triggers: triggers.schema.default(defaultTriggers),
      environment: environment.schema.default({}),
      ...Object.fromEntries(sections.filter(isNotFixed).map((one) => [one.name, one.schema.optional()])),
    })
    .refine(...notBoth('provider', 'providers'))
    .superRefine(checkProviders(sections), { when: isMap })
    // The sections are known by their types only where they are put into a table.
    .transform(
      ({ provider: only, ...written }): Spec => ({
        ...written,
        providers: written.providers ?? { primary: only ?? choicesIn(sections, written)[0] ?? '' },
      }),
    );

/** Every file has these, written or not. */
const isNotFixed = ({ name: one }: Section): boolean => one !== triggers.name && one !== environment.name;

type Shipped = (typeof shippedSections)[number];

/** An `eph.yaml`. Sections that are not shipped are there, too, and known only to whoever joined them. */
export type Spec = {
  readonly version: '1.0';
  readonly name: string;
  readonly providers: z.output<typeof providers>;
  readonly triggers: z.output<typeof triggers.schema>;
  readonly environment: z.output<typeof environment.schema>;
} & { readonly [S in Shipped as S['name']]?: z.output<S['schema']> | undefined };
export type Trigger = Spec['triggers'][number];
