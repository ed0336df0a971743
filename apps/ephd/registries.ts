import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { findGlob, type ProjectId, projectPattern, type ServerVariables } from '@eph/contract';

import { z } from 'zod';
import { isMap, type ReadSecret, secret } from './forge-types/forge-type.ts';

/** A container registry as the file describes it. */
export interface ConfiguredRegistry {
  readonly username: string | undefined;
  readonly password: ServerVariables[string] | undefined;
  readonly plainHttp: boolean;
  /** Certificates in PEM; those that the system trusts without it. */
  readonly ca: string | undefined;
  readonly webhookSecret: ServerVariables[string] | undefined;
  /** Whether a project may use it. */
  readonly isFor: (project: ProjectId) => boolean;
}

const dockerHub: ReadonlySet<string> = new Set([
  'index.docker.io',
  'registry-1.docker.io',
  'hub.docker.com',
  'registry.hub.docker.com',
]);

const host = z.string().superRefine((given, context) => {
  const message = dockerHub.has(given)
    ? 'is Docker Hub, which is called docker.io in the names of images'
    : 'must be a host as in the names of images, such as ghcr.io or registry.example.com:5000';
  // An address would lose the port of HTTPS, and capitals.
  if (dockerHub.has(given) || URL.parse(`https://${given}`)?.host !== given) context.addIssue({ code: 'custom', message });
});

const registry = z
  .strictObject({
    username: z.string().min(1).optional(),
    password: secret.optional(),
    plain_http: z.boolean().default(false),
    ca: z.string().min(1).optional(),
    webhook_secret: secret.optional(),
    projects: z.array(projectPattern).optional(),
  })
  .superRefine(
    ({ username, password, plain_http: isPlain, ca }, context) => {
      const issue = (key: string, message: string): void => context.addIssue({ code: 'custom', path: [key], message });
      if (username !== undefined && password === undefined) issue('username', 'needs a password beside it');
      if (username === undefined && password !== undefined) issue('password', 'needs a username beside it');
      if (isPlain && ca !== undefined) issue('ca', 'has no effect with plain_http; keep one of them');
    },
    { when: isMap },
  );

export const registriesSchema = z.record(host, registry);

export interface ReadRegistriesOptions {
  /** Which paths begin in. */
  readonly folder: string;
  readonly readSecret: (registry: string) => ReadSecret;
  /** `at` is the path in `registries`. */
  readonly blame: (at: readonly string[], message: string) => void;
}

export const readRegistries = (
  registries: z.output<typeof registriesSchema>,
  { folder, readSecret, blame }: ReadRegistriesOptions,
): ReadonlyMap<string, ConfiguredRegistry> =>
  new Map(
    Object.entries(registries).map(([name, given]) => {
      const { username, password, plain_http: plainHttp, ca, webhook_secret: webhook, projects } = given;
      const read = readSecret(name);
      const settings: ConfiguredRegistry = {
        username,
        password: password && read('password', password),
        plainHttp,
        ca: ca && readCertificates(resolve(folder, ca), (message) => blame([name, 'ca'], message)),
        webhookSecret: webhook && read('webhook_secret', webhook),
        isFor: (project) => projects === undefined || findGlob(project, projects) !== undefined,
      };
      return [name, settings];
    }),
  );

const readCertificates = (path: string, blame: (message: string) => void): string | undefined => {
  try {
    const text = readFileSync(path, 'utf8');
    parseCertificate(text);
    return text;
  } catch (error) {
    const isAbsent = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    blame(`${path} cannot be used: ${isAbsent ? 'there is no such file' : 'it is not a certificate in PEM'}`);
    return undefined;
  }
};

/** Throws for what is no certificate. More of them may follow. */
const parseCertificate = (text: string): X509Certificate => new X509Certificate(text);
