import { verify } from 'node:crypto';
import type { App, Token } from './app.ts';
import type { GithubState } from './github-state.ts';
import type { Viewer } from './viewer.ts';

/** Why authentication failed, in GitHub's words. */
export interface Refusal {
  readonly refused: string;
}

const longestJwtSeconds = 600;
/** The clock skew that GitHub tolerates. */
const clockToleranceSeconds = 60;

/** Issues tokens and authenticates requests. */
export class Credentials {
  readonly #github: GithubState;
  readonly #tokens = new Map<string, Token>();

  constructor(github: GithubState) {
    this.#github = github;
  }

  add(token: Token): void {
    this.#tokens.set(token.text, token);
  }

  find(text: string): Token | undefined {
    return this.#tokens.get(text);
  }

  get all(): Iterable<Token> {
    return this.#tokens.values();
  }

  recognise(authorization: string | undefined): Viewer | Refusal {
    if (authorization === undefined) return { kind: 'anonymous' };
    const [scheme = '', text = ''] = authorization.split(' ');
    if (scheme.toLowerCase() === 'basic') return this.#recogniseToken(passwordOf(text));
    if (!['bearer', 'token'].includes(scheme.toLowerCase())) return badCredentials;
    return text.split('.').length === 3 ? this.#recogniseJwt(text) : this.#recogniseToken(text);
  }

  #recogniseToken(text: string): Viewer | Refusal {
    const token = this.#tokens.get(text);
    if (token === undefined || token.revoked) return badCredentials;
    if (token.expiresAt !== undefined && token.expiresAt <= this.#github.now()) return badCredentials;
    if (token.kind === 'personal') return { kind: 'user', user: token.user, token };
    const { installation, permissions, repositories } = token;
    if (!this.#github.installations.has(installation.id)) return badCredentials;
    return { kind: 'installation', installation, permissions, repositories };
  }

  #recogniseJwt(text: string): Viewer | Refusal {
    const [header = '', payload = '', signature = ''] = text.split('.');
    const claims = parseClaims(payload);
    if (claims === undefined) return undecodable;
    const app = this.#findApp(claims['iss']);
    if (app === undefined) return { refused: 'Integration not found' };
    const signed = Buffer.from(`${header}.${payload}`);
    if (!verify('RSA-SHA256', signed, app.publicKey, Buffer.from(signature, 'base64url'))) return undecodable;
    return this.#checkTimes(claims) ?? { kind: 'app', app };
  }

  #findApp(issuer: unknown): App | undefined {
    return [...this.#github.apps.values()].find(({ id, clientId }) => String(id) === String(issuer) || clientId === issuer);
  }

  #checkTimes(claims: Readonly<Record<string, unknown>>): Refusal | undefined {
    const now = this.#github.now() / 1000;
    const { iat, exp } = claims;
    if (typeof exp !== 'number' || exp <= now)
      return {
        refused:
          "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires",
      };
    if (exp > now + longestJwtSeconds + clockToleranceSeconds)
      return { refused: "'Expiration time' claim ('exp') is too far in the future" };
    if (typeof iat !== 'number' || iat > now + clockToleranceSeconds)
      return { refused: "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued" };
    return undefined;
  }
}

const badCredentials: Refusal = { refused: 'Bad credentials' };
const undecodable: Refusal = { refused: 'A JSON web token could not be decoded' };

const passwordOf = (basic: string): string => {
  const text = Buffer.from(basic, 'base64').toString();
  return text.slice(text.indexOf(':') + 1);
};

const parseClaims = (payload: string): Readonly<Record<string, unknown>> | undefined => {
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString());
    return typeof claims === 'object' && claims !== null ? (claims as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    // Whatever it is, it is not a token.
    return undefined;
  }
};
