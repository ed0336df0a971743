import { createPrivateKey, randomUUID, sign, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { makeCertificate } from './openssl.ts';
import { type RegistryLogin, registryUser } from './registry.ts';

export interface TokenServer extends Disposable {
  /** For the registry whose tokens it gives out. */
  readonly login: RegistryLogin;
  /** The scopes that were asked for, by whom. */
  readonly requests: readonly { readonly user: string | undefined; readonly scopes: readonly string[] }[];
}

const service = 'registry.example';
const issuer = 'a test';

/**
 * Gives out tokens as the documentation of distribution describes it: everything to the user of the part, and the right to pull to
 * everybody else. The folder is for its key.
 */
export const startTokenServer = async (folder: string): Promise<TokenServer> => {
  makeCertificate(folder, 'issuer');
  const certificate = join(folder, 'issuer.pem');
  const signToken = createSigner(readFileSync(join(folder, 'issuer.key'), 'utf8'), readFileSync(certificate, 'utf8'));
  const requests: { user: string | undefined; scopes: readonly string[] }[] = [];
  const server = createServer((request, response) => {
    const user = userOf(request);
    const scopes = new URL(request.url ?? '', 'http://host').searchParams.getAll('scope');
    requests.push({ user, scopes });
    if (request.headers.authorization !== undefined && user === undefined) return response.writeHead(401).end();
    const access = scopes.map((scope) => toAccess(scope, user !== undefined));
    return response.setHeader('content-type', 'application/json').end(JSON.stringify({ token: signToken(user ?? '', access) }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    login: { type: 'token', realm: `http://127.0.0.1:${port}/token`, service, issuer, certificate },
    requests,
    [Symbol.dispose]: () => server.close().closeAllConnections(),
  };
};

const userOf = ({ headers }: IncomingMessage): string | undefined => {
  const given = Buffer.from(headers.authorization?.replace('Basic ', '') ?? '', 'base64').toString();
  return given === `${registryUser.name}:${registryUser.password}` ? registryUser.name : undefined;
};

const toAccess = (scope: string, isUser: boolean) => {
  const [, type, name, actions = ''] = /^(\w+):(.*):([\w,*]+)$/.exec(scope) ?? [];
  return { type, name, actions: actions.split(',').filter((action) => isUser || action === 'pull') };
};

const createSigner = (key: string, certificate: string) => {
  const privateKey = createPrivateKey(key);
  const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const header = { typ: 'JWT', alg: 'ES256', x5c: [new X509Certificate(certificate).raw.toString('base64')] };
  return (subject: string, access: unknown): string => {
    const now = Math.floor(Date.now() / 1000);
    const claims = {
      iss: issuer,
      sub: subject,
      aud: service,
      nbf: now - 10,
      iat: now,
      exp: now + 300,
      jti: randomUUID(),
      access,
    };
    const content = `${encode(header)}.${encode(claims)}`;
    const signature = sign('sha256', Buffer.from(content), { key: privateKey, dsaEncoding: 'ieee-p1363' });
    return `${content}.${signature.toString('base64url')}`;
  };
};
