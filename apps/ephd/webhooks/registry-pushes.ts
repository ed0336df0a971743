import { parseImageReference } from '@eph/contract';
import { z } from 'zod';
import { type Verify, verifySignature, verifyToken } from './verification.ts';

/** A registry that may say that something was pushed. */
export interface NotifyingRegistry {
  readonly host: string;
  readonly secret: string;
}

export interface ReceivedHeaders {
  readonly authorization: string | undefined;
  readonly signature: string | undefined;
}

/** The header that says how a body is signed. */
export const registrySignature = 'x-hub-signature-256';

/** How a registry shows that it knows the secret: as GitHub signs, or in a header that the operator configured. */
const verifiers = (headers: ReceivedHeaders, secret: string): readonly (Verify | undefined)[] => [
  verifyToken(headers.authorization?.replace(/^bearer /i, ''), secret),
  verifySignature('sha256=')(headers.signature, secret),
];

/** Who sent a body; undefined where no registry can have. */
export const findSender = (
  registries: readonly NotifyingRegistry[],
  headers: ReceivedHeaders,
): ((body: Uint8Array) => readonly string[]) | undefined => {
  const possible = registries.flatMap(({ host, secret }) =>
    verifiers(headers, secret).flatMap((verify) => (verify === undefined ? [] : [{ host, verify }])),
  );
  if (possible.length === 0) return undefined;
  return (body) => possible.filter(({ verify }) => verify(body)).map(({ host }) => host);
};

/** https://distribution.github.io/distribution/about/notifications/ */
const distribution = z.looseObject({
  events: z.array(z.looseObject({ action: z.string(), target: z.looseObject({ repository: z.string().nullish() }).nullish() })),
});

/** `package` and `registry_package` of GitHub. */
const published = z.looseObject({
  namespace: z.string().nullish(),
  name: z.string().nullish(),
  package_type: z.string().nullish(),
});
const github = z.looseObject({ package: published.nullish(), registry_package: published.nullish() });

/** What GitHub sends when somebody adds the webhook. */
const ping = z.looseObject({ zen: z.string(), hook_id: z.number() });

/** The repositories that were pushed to, with their host; undefined when the body is of no known form. */
export const readPushes = (payload: unknown, host: string): readonly string[] | undefined => {
  const notified = distribution.safeParse(payload);
  if (notified.success) {
    const pushes = notified.data.events.filter(({ action }) => action === 'push');
    return repositoriesOf(
      host,
      pushes.map(({ target }) => target?.repository),
    );
  }
  const { data } = github.safeParse(payload);
  const pushed = data?.package ?? data?.registry_package;
  if (pushed === undefined || pushed === null) return ping.safeParse(payload).success ? [] : undefined;
  return repositoriesOf(host, [pushed.namespace && pushed.name && `${pushed.namespace}/${pushed.name}`]);
};

const repositoriesOf = (host: string, names: readonly (string | null | undefined)[]): readonly string[] => [
  ...new Set(names.flatMap((name) => (name ? (parseImageReference(`${host}/${name.toLowerCase()}`)?.repository ?? []) : []))),
];
