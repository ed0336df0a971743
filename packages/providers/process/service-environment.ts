import { fillInParts } from '@eph/contract';
import type { Service } from './service.ts';

/** The only variables of ephd that services get: others may be secrets of ephd. */
const inherited = ['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'LC_ALL', 'LC_CTYPE', 'TZ', 'TMPDIR'] as const;

/** Set for every process of an instance and inherited by its descendants, by which they are recognised. */
export const markerVariable = 'EPH_INSTANCE';

export const computeServiceEnvironment = (
  own: Readonly<Record<string, string | undefined>>,
  service: Pick<Service, 'env' | 'secretEnv'>,
  facts: { readonly marker: string; readonly port?: number; readonly image?: string | undefined } & Parameters<
    typeof fillInParts
  >[1],
): Record<string, string> => {
  const base: Record<string, string> = { PATH: '/usr/local/bin:/usr/bin:/bin' };
  for (const name of inherited) {
    const value = own[name];
    if (value !== undefined) base[name] = value;
  }
  const { marker, port, image } = facts;
  const variables: Record<string, string> = { ...base, ...service.env };
  for (const [name, parts] of Object.entries(service.secretEnv ?? {})) variables[name] = fillInParts(parts, facts);
  return {
    ...variables,
    ...(image && { EPH_IMAGE: image }),
    ...(port !== undefined && { PORT: String(port) }),
    [markerVariable]: marker,
  };
};
