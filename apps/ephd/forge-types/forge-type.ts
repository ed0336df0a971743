import type { TokenServerOptions } from '@eph/adapters/forge-http/forge-http';
import type { ForgeServer, ForgeServerOptions } from '@eph/adapters/forge-http/forge-server';
import type { ServerVariables } from '@eph/contract';
import { z } from 'zod';
import type { Dialect } from '../webhooks/dialect.ts';

export interface ForgeType {
  /** Its settings in the file of ephd, checked. */
  readonly schema: z.ZodType<ForgeSettings> & z.core.$ZodTypeDiscriminable;
  readonly dialect: Dialect;
  /** The address of its pages. */
  readonly webUrlOf: (url: string) => string;
  /** Whether an owner may be in another, as the groups of GitLab are. */
  readonly nestedOwners: boolean;
  /** How many readings a minute all repositories of one configured forge may use together. */
  readonly readingsPerMinute: number;
}

/** A forge as the file describes it. */
export interface ForgeSettings {
  readonly type: string;
  /** Of GitHub the address of its API, of others that of their pages. */
  readonly url: string;
  readonly webhook_secret?: SecretName | undefined;
  readonly readCredentials: (read: ReadSecret) => CreateServer;
}

export type CreateServer = (options: ForgeServerOptions) => ForgeServer;

/** Where people keep tokens is their business; they are never in the file. */
export const secret = z.strictObject({ from: z.string().min(1) });
export type SecretName = z.output<typeof secret>;

/** `key` is the key of the file that names the secret, for messages. */
export type ReadSecret = (key: string, name: SecretName) => ServerVariables[string];

export const address = z
  .url({ protocol: /^https?$/, error: 'must be an address such as https://git.example.com' })
  .transform((url) => url.replace(/\/+$/, ''));

/** For checks that run even if others have failed. */
export const isMap = ({ value }: { readonly value: unknown }): boolean => typeof value === 'object' && value !== null;

/** The settings of a forge whose only credential is a token. */
export const toTokenSettings =
  (createServer: (options: TokenServerOptions) => ForgeServer) =>
  <Given extends { readonly url: string; readonly token: SecretName }>({ token, ...given }: Given) => ({
    ...given,
    readCredentials: (read: ReadSecret): CreateServer => {
      const { value } = read('token', token);
      return (options) => createServer({ ...options, baseUrl: given.url, token: value });
    },
  });
