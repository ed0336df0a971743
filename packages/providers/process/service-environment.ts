import { fillInParts } from '@eph/contract';
import type { Service } from './service.ts';

/** All that a service sees of ephd's own environment: whatever else is there may be a secret of ephd. */
const inherited = ['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'LC_ALL', 'LC_CTYPE', 'TZ', 'TMPDIR'] as const;

/** Carried by every process of an instance, and inherited by whatever it starts: how stray processes are recognised. */
export const markerVariable = 'EPH_INSTANCE';

export const computeServiceEnvironment = (
  own: Readonly<Record<string, string | undefined>>,
  service: Service,
  facts: { readonly marker: string; readonly port: number } & Parameters<typeof fillInParts>[1],
): Record<string, string> => {
  const base: Record<string, string> = { PATH: '/usr/local/bin:/usr/bin:/bin' };
  for (const name of inherited) {
    const value = own[name];
    if (value !== undefined) base[name] = value;
  }
  const { marker, port } = facts;
  const variables: Record<string, string> = { ...base, ...service.env };
  for (const [name, parts] of Object.entries(service.secretEnv ?? {})) variables[name] = fillInParts(parts, facts);
  return { ...variables, PORT: String(port), [markerVariable]: marker };
};
