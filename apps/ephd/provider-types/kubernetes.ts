import { dnsLabel, EphError, projectPattern } from '@eph/contract';
import { systemClock } from '@eph/engine/time/system-clock';
import { createKubernetesProvider } from '@eph/providers/kubernetes/provider';
import { z } from 'zod';
import { locateCluster } from './kubernetes-cluster.ts';
import type { ProviderContext, ProviderSettings, ProviderType } from './provider-type.ts';
import { forgetRetired, readRetired, writeRetired } from './retired-settings.ts';

const label = z.string().regex(dnsLabel, 'must be lower-case letters, digits and dashes');

const range = z
  .string()
  .refine((text) => [z.cidrv4(), z.cidrv6()].some((one) => one.safeParse(text).success), 'must be a range such as 10.20.0.0/16');

const settingsSchema = z.strictObject({
  type: z.literal('kubernetes'),
  kubeconfig: z.string().startsWith('/', 'must be a path that begins with /').optional(),
  context: z.string().min(1).optional(),
  owner: label.default('eph'),
  reached: z.enum(['service', 'forward']).optional(),
  pod_security: z.enum(['baseline', 'restricted']).default('baseline'),
  reach: z.array(range).default([]),
  secrets: z
    .array(
      z.strictObject({
        namespace: label,
        names: z.array(z.string().min(1).max(253)).min(1),
        projects: z.array(projectPattern).optional(),
      }),
    )
    .default([]),
  gateway_namespace: label.optional(),
});

type KubernetesSettings = z.output<typeof settingsSchema>;

/** What carries the same mark in the same cluster belongs to one provider. */
const placeOf = ({ kubeconfig, context, owner }: KubernetesSettings): string =>
  JSON.stringify([kubeconfig ?? null, context ?? null, owner]);

export const kubernetes = {
  schema: settingsSchema.transform(
    (settings): ProviderSettings => ({
      type: settings.type,
      place: placeOf(settings),
      create(context) {
        if (!context.isRetired) keepSettings(settings, context);
        const provider = createProvider(settings, context);
        if (context.isRetired) void forgetIfEmpty(provider, context);
        return provider;
      },
    }),
  ),
  readRetired: (folder) => readRetired(folder, 'kubernetes'),
} as const satisfies ProviderType;

const createProvider = (settings: KubernetesSettings, context: ProviderContext) => {
  const { owner, reach, pod_security: podSecurity, secrets, gateway_namespace: gatewayNamespace } = settings;
  const { name, variables, secretOf, urlOf, observer, log } = context;
  const location = locateCluster(settings, variables);
  return createKubernetesProvider({
    name,
    location,
    owner,
    podSecurity,
    reach,
    ...(gatewayNamespace !== undefined && { gatewayNamespace }),
    copyRules: secrets.map(({ projects, ...rule }) => ({ ...rule, ...(projects && { projects }) })),
    reached: settings.reached ?? ('inCluster' in location ? 'service' : 'forward'),
    secretOf,
    urlOf,
    clock: systemClock,
    random: Math.random,
    observer,
    log,
  });
};

/** Under the name of a provider another cluster would look like one that lost everything, and nobody would look after what is left. */
const keepSettings = (settings: KubernetesSettings, { name, folder }: ProviderContext): void => {
  const kept = readRetired(folder, settings.type);
  const before = kept && settingsSchema.safeParse(kept).data;
  if (before !== undefined && placeOf(before) !== placeOf(settings))
    throw new EphError(
      'config.invalid',
      `provider ${name} had another kubeconfig, context or owner, and may hold environments there. Give what is new a name of its own, and keep ${name} as it was until it holds nothing. If it is the same cluster and owner, or if it holds nothing, remove ${folder}.`,
    );
  writeRetired(folder, settings);
};

/** What cannot be read may hold environments. */
const forgetIfEmpty = async (
  provider: ReturnType<typeof createKubernetesProvider>,
  { name, folder, log }: ProviderContext,
): Promise<void> => {
  const { items, complete } = await provider.list({ all: true }, AbortSignal.timeout(forgetMs));
  if (!complete || items.length > 0) return;
  forgetRetired(folder);
  log.info({ provider: name }, 'it holds nothing any more and is not started again');
};

/** It is tried again at the next start. */
const forgetMs = 60_000;
