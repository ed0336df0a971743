import { type ProjectId, projectId, redact } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../engine/time/clock.fake.ts';
import type { OciRegistryOptions } from './oci-registry.ts';
import { startScripted } from './registry-harness.fake.ts';
import type { RegistrySettings } from './registry-hosts.ts';
import type { ScriptedAnswer, ScriptedRegistry, ScriptedRequest } from './scripted-registry.fake.ts';

const { signal } = new AbortController();
const shop = projectId('shop');
const password = 'a-long-registry-password';
const login = { username: 'robot', password: { value: password } };
const basic = `Basic ${btoa(`robot:${password}`)}`;
const scope = 'repository:acme/shop:pull';
const denied = { errors: [{ code: 'DENIED', message: 'requested access to the resource is denied' }] };

const start = async (settings: Partial<RegistrySettings> = {}, options: Partial<OciRegistryOptions> = {}) => {
  const { server, registry, repository } = await startScripted({ settings, ...options });
  const digest = server.putImage({ os: 'linux', architecture: 'amd64' }, 'v1', 'v2');
  const find = (reference = 'v1', project: ProjectId = shop) => registry.find({ project, repository, reference }, signal);
  const tokenRequests = () => server.requests.filter(({ target }) => target.includes('token'));
  return { server, registry, repository, digest, find, tokenRequests };
};

const refused = (sentence: RegExp) => ({ code: 'registry.refused', message: expect.stringMatching(sentence) });
const found = (digest: string) => ({ state: 'found', digest });

/**
 * Registries as their documentation, or their answer to curl, shows them. `realm` is on the host of the test, as on GHCR; `token` is
 * the body that the realm answers with.
 */
const registries: Readonly<
  Record<string, { readonly challenge: (host: string) => string; readonly token: unknown; readonly query: string }>
> = {
  'Docker Hub': {
    challenge: (host) => `Bearer realm="http://${host}/token",service="registry.docker.io",scope="${scope}"`,
    token: { token: 'tkn', access_token: 'tkn', expires_in: 300, issued_at: '2026-01-05T09:00:00.0Z' },
    query: `service=registry.docker.io&scope=${encodeURIComponent(scope)}`,
  },
  GHCR: {
    challenge: (host) => `Bearer realm="http://${host}/token",service="ghcr.io",scope="${scope}"`,
    token: { token: 'tkn' },
    query: `service=ghcr.io&scope=${encodeURIComponent(scope)}`,
  },
  'GCR, without a scope': {
    challenge: (host) => `Bearer realm="http://${host}/v2/token",service="gcr.io"`,
    token: { expires_in: 43_200, token: 'tkn' },
    query: `service=gcr.io&scope=${encodeURIComponent(scope)}`,
  },
  'Artifact Registry, without a service': {
    challenge: (host) => `Bearer realm="http://${host}/v2/token"`,
    token: { expires_in: 3_600, token: 'tkn' },
    query: `scope=${encodeURIComponent(scope)}`,
  },
  ACR: {
    challenge: (host) => `Bearer realm="http://${host}/oauth2/token",service="acme.azurecr.io",scope="${scope}"`,
    token: { access_token: 'tkn' },
    query: `service=acme.azurecr.io&scope=${encodeURIComponent(scope)}`,
  },
  'ECR Public': {
    challenge: (host) => `Bearer realm="http://${host}/token/",service="public.ecr.aws",scope="aws"`,
    token: { token: 'tkn' },
    query: 'service=public.ecr.aws&scope=aws',
  },
  'GitLab, with several scopes': {
    challenge: (host) =>
      `Bearer realm="http://${host}/jwt/auth?x=token",service="container_registry",scope="${scope} registry:catalog:*"`,
    token: { token: 'tkn' },
    query: `x=token&service=container_registry&scope=${encodeURIComponent(scope)}&scope=registry%3Acatalog%3A*`,
  },
};

describe.each(Object.entries(registries))('the tokens of %s', (_, { challenge, token, query }) => {
  const serveTokens =
    (server: ScriptedRegistry, authorization?: string) =>
    (request: ScriptedRequest): ScriptedAnswer => {
      if (request.target.includes('token'))
        return request.headers.authorization === authorization ? { body: token } : { status: 401, body: denied };
      if (request.headers.authorization === 'Bearer tkn') return server.serve(request);
      return { status: 401, headers: { 'www-authenticate': challenge(server.host) } };
    };

  it('are got without credentials', async () => {
    const { server, find, digest, tokenRequests } = await start();
    server.script = serveTokens(server);
    expect(await find()).toEqual(found(digest));
    expect(tokenRequests().map(({ method, target }) => [method, target.replace(/^[^?]*\?/, '')])).toEqual([['GET', query]]);
  });

  it('are got with credentials, once for many requests', async () => {
    const { server, find, digest, tokenRequests } = await start(login);
    server.script = serveTokens(server, basic);
    expect(await Promise.all([find(), find('v2'), find()])).toEqual(Array.from({ length: 3 }, () => found(digest)));
    expect(await find('v2')).toEqual(found(digest));
    expect(tokenRequests()).toHaveLength(1);
    expect(server.requests.filter(({ headers }) => headers.authorization === basic)).toHaveLength(1);
  });
});

describe('passwords', () => {
  it('are sent as ECR wants it, after it asked for one', async () => {
    const { server, find, digest } = await start({ username: 'AWS', password: { value: password } });
    server.script = (request) =>
      request.headers.authorization === `Basic ${btoa(`AWS:${password}`)}`
        ? server.serve(request)
        : {
            status: 401,
            headers: {
              'www-authenticate': 'Basic realm="https://1.dkr.ecr.eu-west-1.amazonaws.com/",service="ecr.amazonaws.com"',
            },
            body: 'Not Authorized',
          };
    expect(await find()).toEqual(found(digest));
    expect(server.requests[0]?.headers.authorization).toBeUndefined();
    expect(await find('v2')).toEqual(found(digest));
    expect(server.requests).toHaveLength(3);
  });

  it('are not sent where tokens are possible', async () => {
    const { server, find, digest } = await start(login);
    server.script = (request) => {
      if (request.target.startsWith('/token')) return { body: { token: 'tkn' } };
      if (request.headers.authorization === 'Bearer tkn') return server.serve(request);
      const offered = ['Basic realm="x"', `Bearer realm="http://${server.host}/token"`];
      return { status: 401, headers: { 'www-authenticate': offered } };
    };
    expect(await find()).toEqual(found(digest));
    expect(server.requests.map(({ target, headers }) => [target.split('?')[0], headers.authorization === basic])).toEqual([
      ['/v2/acme/shop/manifests/v1', false],
      ['/token', true],
      ['/v2/acme/shop/manifests/v1', false],
    ]);
  });
});

describe('a token', () => {
  const issue = (server: ScriptedRegistry, expiresIn?: number) => {
    let issued = 0;
    let valid = '';
    server.script = (request) => {
      if (request.target.startsWith('/token')) {
        issued += 1;
        valid = `tkn${issued}`;
        return { body: { token: valid, expires_in: expiresIn } };
      }
      if (request.headers.authorization === `Bearer ${valid}`) return server.serve(request);
      return { status: 401, headers: { 'www-authenticate': `Bearer realm="http://${server.host}/token"` } };
    };
    return { issued: () => issued, revoke: () => void (valid = 'none') };
  };

  it.each([
    [300, 240],
    [undefined, 48],
    [0, 48],
    [-5, 48],
    [1_000_000, 2_880],
  ])('that is valid for %s s is used for %i s, and then got again without a challenge', async (expiresIn, usedS) => {
    const clock = new ManualClock();
    const { server, find } = await start({}, { clock });
    const { issued } = issue(server, expiresIn);
    await find();
    clock.advance(usedS * 1_000 - 1);
    await find('v2');
    expect(issued()).toBe(1);
    clock.advance(1);
    const before = server.requests.length;
    await find('v2');
    expect(issued()).toBe(2);
    expect(server.requests).toHaveLength(before + 2);
  });

  it('is got again when the clock was set back', async () => {
    const clock = new ManualClock();
    const { server, find } = await start({}, { clock });
    const { issued } = issue(server, 300);
    await find();
    clock.jump(-86_400_000);
    await find('v2');
    expect(issued()).toBe(2);
  });

  it('is got again when the registry does not accept it any more', async () => {
    const { server, find, digest } = await start();
    const { issued, revoke } = issue(server, 3_600);
    await find();
    revoke();
    expect(await find('v2')).toEqual(found(digest));
    expect(issued()).toBe(2);
  });

  it('of a list may need another scope, as on ACR', async () => {
    const { server, registry, repository, find, tokenRequests } = await start();
    const list = 'repository:acme/shop:metadata_read';
    server.script = (request) => {
      const url = new URL(request.target, 'http://host');
      if (url.pathname === '/token') return { body: { token: btoa(url.searchParams.get('scope') ?? '') } };
      const needed = url.pathname.endsWith('/tags/list') ? list : scope;
      if (request.headers.authorization !== `Bearer ${btoa(needed)}`)
        return { status: 401, headers: { 'www-authenticate': `Bearer realm="http://${server.host}/token",scope="${needed}"` } };
      return needed === list ? { body: { tags: ['v1'] } } : server.serve(request);
    };
    for (let round = 0; round < 3; round += 1) {
      await find();
      expect(await registry.tags({ project: shop, repository }, () => true, signal)).toEqual({ state: 'found', tags: ['v1'] });
    }
    expect(tokenRequests()).toHaveLength(2);
  });

  it.each([
    ['no JSON', 'tkn'],
    ['without a token', { expires_in: 60 }],
    ['that is no text', { token: 7 }],
    ['that would end the header', { token: 'a\r\nx-evil: b' }],
    ['that is empty', { token: '' }],
    ['that is endless', { token: 'x'.repeat(20_000) }],
  ])('is refused: %s', async (_, body) => {
    const { server, find } = await start();
    server.script = ({ target }) =>
      target.startsWith('/token')
        ? { body }
        : { status: 401, headers: { 'www-authenticate': `Bearer realm="http://${server.host}/token"` } };
    await expect(find()).rejects.toMatchObject(refused(/^127\.0\.0\.1:\d+ sends no valid token\.$/));
  });

  it.each([500, 429])('that the token server cannot give now is waited for: %i', async (status) => {
    const { server, find } = await start();
    server.script = ({ target }) =>
      target.startsWith('/token')
        ? { status, headers: { 'retry-after': '9' } }
        : { status: 401, headers: { 'www-authenticate': `Bearer realm="http://${server.host}/token"` } };
    await expect(find()).rejects.toMatchObject({ code: 'registry.unreachable', retryAfterMs: 9_000 });
  });
});

describe('a repository that is not shown', () => {
  /** GHCR refuses the token, Docker Hub gives one that counts for nothing, others answer 403 at once. */
  const scripts: Readonly<Record<string, (server: ScriptedRegistry) => (request: ScriptedRequest) => ScriptedAnswer>> = {
    'by the token server of GHCR': (server) => (request) =>
      request.target.startsWith('/token')
        ? { status: 403, body: denied }
        : { status: 401, headers: { 'www-authenticate': `Bearer realm="http://${server.host}/token",scope="${scope}"` } },
    'by Docker Hub': (server) => (request) =>
      request.target.startsWith('/token')
        ? { body: { token: 'tkn' } }
        : {
            status: 401,
            headers: {
              'www-authenticate': `Bearer realm="http://${server.host}/token",scope="${scope}",error="insufficient_scope"`,
            },
            body: denied,
          },
    'by a password': () => () => ({ status: 401, headers: { 'www-authenticate': 'Basic realm="x"' } }),
    'by status 403': () => () => ({ status: 403, body: denied }),
  };

  it.each(Object.entries(scripts))('may not exist or may need credentials: %s', async (_, script) => {
    const { server, find, repository } = await start();
    server.script = script(server);
    await expect(find()).rejects.toMatchObject({
      code: 'registry.refused',
      message: `${server.host} does not show ${repository}: the repository does not exist, or it needs credentials, and ephd has none for ${server.host}. An operator can add them under registries in the file of ephd.`,
    });
  });

  it.each(Object.entries(scripts).slice(0, 3))('may not exist or may be refused to these credentials: %s', async (_, script) => {
    const { server, find, repository } = await start(login);
    server.script = script(server);
    const failing = find();
    await expect(failing).rejects.toMatchObject({
      code: 'registry.refused',
      message: `${server.host} does not show ${repository}: the repository does not exist, or the credentials that ephd has for ${server.host} may not read it.`,
    });
    expect(server.requests.some(({ headers }) => headers.authorization === basic)).toBe(true);
  });

  it.each([
    undefined,
    'Negotiate',
    'Bearer realm="nowhere"',
    'Bearer service="x"',
    'Bearer realm="ftp://x/token"',
    'Bearer realm="http://a:b@127.0.0.1/"',
  ])('is refused where the registry asks for something else: %s', async (challenge) => {
    const { server, find } = await start(login);
    server.script = () => ({ status: 401, headers: challenge === undefined ? {} : { 'www-authenticate': challenge } });
    await expect(find()).rejects.toMatchObject(refused(/does not say how|no valid address to get tokens at|without TLS/));
    expect(server.requests).toHaveLength(1);
  });
});

describe('a registry for some projects', () => {
  it('is not configured for others', async () => {
    const { server, find, digest } = await start({ ...login, isFor: (project) => project === shop });
    server.script = (request) =>
      request.headers.authorization === basic ? server.serve(request) : { status: 401, headers: { 'www-authenticate': 'Basic' } };
    expect(await find()).toEqual(found(digest));
    const before = server.requests.length;
    await expect(find('v1', projectId('blog'))).rejects.toMatchObject(refused(/^127\.0\.0\.1 is not at a public address/));
    expect(server.requests).toHaveLength(before);
  });
});

it('shows no secret in any message', async () => {
  const { server, find } = await start(login);
  server.script = ({ target, headers }) =>
    target.startsWith('/token')
      ? { status: 400, body: { error: headers.authorization } }
      : { status: 401, headers: { 'www-authenticate': `Bearer realm="http://${server.host}/token?secret=${password}"` } };
  const error: unknown = await find().catch((thrown: unknown) => thrown);
  expect(String(error)).toContain('gives out no token');
  expect(String(error)).not.toContain(password);
  // Not because it is redacted: nobody said here that it is a secret.
  expect(redact(password)).toBe(password);
});
