export interface GiteaUser {
  readonly name: string;
  readonly password: string;
  readonly token: string;
}

/** The API of a server with the credentials of one user. */
export class GiteaApi {
  readonly url: string;
  readonly user: GiteaUser;

  constructor(url: string, user: GiteaUser) {
    this.url = url;
    this.user = user;
  }

  as(user: GiteaUser): GiteaApi {
    return new GiteaApi(this.url, user);
  }

  /** The answer as it is, errors included. The path begins after `/api/v1`. */
  request(method: string, path: string, body?: unknown, authorization = `token ${this.user.token}`): Promise<Response> {
    const headers = { authorization, 'content-type': 'application/json' };
    const text = body === undefined ? null : JSON.stringify(body);
    return fetch(`${this.url}/api/v1${path}`, { method, headers, body: text });
  }

  /** The body of a successful answer; throws for any other. The caller is responsible for the type `T`. */
  async send<T = unknown>(method: string, path: string, body?: unknown, authorization?: string): Promise<T> {
    const response = await this.request(method, path, body, authorization);
    const text = await response.text();
    if (!response.ok) throw new Error(`Gitea answers ${method} ${path} with ${response.status}: ${text.trim()}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }

  /** Scopes such as `read:repository`. */
  async createToken(name: string, scopes: readonly string[] = ['all']): Promise<string> {
    const path = `/users/${this.user.name}/tokens`;
    return (await this.send<{ readonly sha1: string }>('POST', path, { name, scopes }, this.#passwordAuthorization())).sha1;
  }

  async deleteToken(name: string): Promise<void> {
    await this.send('DELETE', `/users/${this.user.name}/tokens/${name}`, undefined, this.#passwordAuthorization());
  }

  /** A token cannot manage tokens. */
  #passwordAuthorization(): string {
    return basicAuthorization(this.user.name, this.user.password);
  }
}

/** The basic authentication header of Git; the secret is a password or a token. */
export const basicAuthorization = (name: string, secret: string): string =>
  `Basic ${Buffer.from(`${name}:${secret}`).toString('base64')}`;
