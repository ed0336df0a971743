import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseReference, type Reference, type ReferenceContext, type ResolvedReference, resolveReference } from './references.ts';

describe('a value', () => {
  it.each<readonly [string, Partial<Reference> & { name?: string }]>([
    ['outputs/api/url', { type: 'outputs', namespace: undefined, component: 'api', key: 'url' } as Partial<Reference>],
    ['outputs/my-api-2/data_BASE-url.v1', { component: 'my-api-2', key: 'data_BASE-url.v1' } as Partial<Reference>],
    ['outputs/constructor/toString', { component: 'constructor', key: 'toString' } as Partial<Reference>],
    ['acme-web::outputs/api-deployment/serviceUrl', { type: 'outputs', namespace: 'acme-web', key: 'serviceUrl' }],
    ['platform::outputs/keycloak/issuerUrl', { type: 'outputs', namespace: 'platform', key: 'issuerUrl' }],
    ['connections/database/password', { type: 'connections', key: 'password' }],
    ['secrets/app-secrets/api-key', { type: 'secrets', name: 'api-key', key: 'value' }],
    ['secrets/app-secrets/tls/tls.crt', { type: 'secrets', name: 'tls', key: 'tls.crt' }],
    ['configs/app-config/settings', { type: 'configs', name: 'settings', key: 'value' }],
    ['configs/app-config/settings/database.host', { type: 'configs', name: 'settings', key: 'database.host' }],
    ['other::secrets/app-secrets/api-key', { type: 'secrets', namespace: 'other' }],
  ])('%s is a reference', (text, expected) => {
    expect(parseReference(text)).toEqual({ kind: 'reference', reference: expect.objectContaining({ text, ...expected }) });
  });

  it.each([
    'Outputs/api/url',
    ' outputs/api/url',
    'outputs/api/u r l',
    'outputs/api/url\n',
    'http://outputs/api/url',
    'see outputs/api/url',
    './configs/app.yaml',
    '/secrets/app/key',
    'outputs',
    'Foo::Bar',
    '::1',
    'a::output/x',
    '\\d+',
    '',
  ])('%j is only text', (text) => {
    expect(parseReference(text)).toEqual({ kind: 'text', text });
  });

  it.each([
    ['\\outputs/api/url', 'outputs/api/url'],
    ['\\configs/app.yaml', 'configs/app.yaml'],
    ['\\shop::outputs/api/url', 'shop::outputs/api/url'],
    ['\\\\outputs/api/url', '\\outputs/api/url'],
  ])('%s is the text behind the backslash', (text, plain) => {
    expect(parseReference(text)).toEqual({ kind: 'text', text: plain });
  });

  it.each([
    ['outputs/api', 'it has no key; write outputs/<component>/<key>'],
    ['outputs/api/', '"" is not a key; write outputs/<component>/<key>'],
    ['outputs//url', '"" is not the name of a component'],
    ['outputs/api/url/x', 'it has too many parts'],
    ['outputs/Api/url', '"Api" is not the name of a component'],
    ['outputs/../url', '".." is not the name of a component'],
    ['outputs/api/ü', '"ü" is not a key'],
    ['connections/db', 'it has no key; write connections/<component>/<key>'],
    ['secrets/app', '"" is not the name of a secret; write secrets/<component>/<secret>, or secrets/<component>/<secret>/<key>'],
    ['secrets/app/Key', '"Key" is not the name of a secret'],
    ['configs/app.yaml', '"app.yaml" is not the name of a component'],
    ['configs/app/settings/a/b', 'it has too many parts'],
    ['::outputs/api/url', '"" is not the name of an environment'],
    ['a::b::outputs/api/url', '"a::b" is not the name of an environment'],
    ['Acme::outputs/api/url', '"Acme" is not the name of an environment'],
  ])('%s is a slip, and the fault says how to write it, and how to write plain text', (text, reason) => {
    const parsed = parseReference(text);
    expect(parsed).toEqual({ kind: 'malformed', fault: expect.stringContaining(`${text} is no reference: ${reason}`) });
    expect(parsed).toEqual({ kind: 'malformed', fault: expect.stringContaining(`if it is plain text: \\${text}`) });
  });

  it('is understood or refused in no time, whatever it is', () => {
    const word = fc.constantFrom('outputs/', 'secrets/', '::', '\\', 'a', '/', ' ', '.', '\n', '\u0000');
    fc.assert(
      fc.property(fc.array(word, { maxLength: 30 }), (words) => {
        const text = words.join('');
        const parsed = parseReference(text);
        expect(parsed.kind !== 'text' || parsed.text === text || text.startsWith('\\')).toBe(true);
        // A backslash always makes text of it.
        expect(parseReference(`\\${text}`).kind).toBe('text');
      }),
    );
    for (const text of ['\\'.repeat(200_000), '::'.repeat(100_000), `outputs/${'a/'.repeat(100_000)}`, 'a'.repeat(200_000)])
      expect(parseReference(text).kind).toBeDefined();
  });
});

const context: ReferenceContext = {
  ownNames: ['shop-calm-bay-1234', 'shop-pr-7'],
  components: new Set(['web', 'api', 'database']),
  outputsOf: (component) => (component === 'api' ? { url: 'http://127.0.0.1:1', version: '7' } : {}),
  platform: { keycloak: { issuerUrl: 'https://login' }, api: { url: 'https://platform-api' } },
  foreign: (namespace) => {
    if (namespace === 'acme-web') return { outputs: { 'api-deployment': { serviceUrl: 'https://api.example.com' } } };
    return namespace === 'mirror' ? { outputs: {}, refersBack: true } : undefined;
  },
  providerOf: () => ({ name: 'kubernetes', holdsSecrets: true }),
};

const resolve = (text: string, changes: Partial<ReferenceContext> = {}): ResolvedReference => {
  const parsed = parseReference(text);
  if (parsed.kind !== 'reference') throw new Error(`${text} is no reference`);
  return resolveReference(parsed.reference, { ...context, ...changes });
};

describe('a reference', () => {
  it.each([
    ['of this environment', 'outputs/api/url', 'http://127.0.0.1:1'],
    ['of another environment', 'acme-web::outputs/api-deployment/serviceUrl', 'https://api.example.com'],
    ['of the platform', 'platform::outputs/keycloak/issuerUrl', 'https://login'],
    ['of the platform, where this environment has no such component', 'outputs/keycloak/issuerUrl', 'https://login'],
    [
      'of the platform by name, even if this environment has such a component',
      'platform::outputs/api/url',
      'https://platform-api',
    ],
  ])('to an output %s is its value', (_, text, value) => {
    expect(resolve(text)).toMatchObject({ state: 'literal', value });
  });

  it.each<readonly [string, object]>([
    ['connections/database/password', { secretKeyRef: { component: 'database', name: 'database-connection', key: 'password' } }],
    ['secrets/api/api-key', { secretKeyRef: { component: 'api', name: 'api-api-key', key: 'value' } }],
    ['secrets/api/tls/tls.crt', { secretKeyRef: { component: 'api', name: 'api-tls', key: 'tls.crt' } }],
    ['configs/api/settings/database.host', { configMapKeyRef: { component: 'api', name: 'api-settings', key: 'database.host' } }],
  ])('%s is never the value itself', (text, value) => {
    expect(resolve(text)).toEqual({ state: 'private', value });
  });

  it.each([
    [
      'a component that nobody has, with the one that was probably meant',
      'outputs/apl/url',
      'outputs/apl/url: neither this environment nor the platform has a component apl; did you mean "api"?',
    ],
    [
      'a component that nobody has, with all there are',
      'outputs/mailbox/url',
      'outputs/mailbox/url: neither this environment nor the platform has a component mailbox; there is: web, api, database, keycloak',
    ],
    [
      'a key that is not published, with those that are',
      'outputs/api/serviceAddress',
      'outputs/api/serviceAddress: api publishes no such output; there is: url, version',
    ],
    [
      'a key that is not published, with the one that was probably meant',
      'outputs/api/ulr',
      'outputs/api/ulr: api publishes no such output; did you mean "url"?',
    ],
    [
      'a key where nothing is published',
      'outputs/web/url',
      'outputs/web/url: web publishes no such output; there is none at all',
    ],
    [
      'a key that the platform does not publish',
      'platform::outputs/keycloak/url',
      'platform::outputs/keycloak/url: keycloak publishes no such output; there is: issuerUrl',
    ],
    [
      'a component that the platform does not have',
      'platform::outputs/vault/url',
      'platform::outputs/vault/url: the platform has no component vault; there is: keycloak, api',
    ],
    [
      'a component that another environment does not have',
      'acme-web::outputs/api/serviceUrl',
      'acme-web::outputs/api/serviceUrl: environment acme-web has no component api; there is: api-deployment',
    ],
    [
      'an environment that is not there',
      'acme-wob::outputs/mail/url',
      'acme-wob::outputs/mail/url: there is no environment with the name or alias acme-wob',
    ],
    [
      'an environment that is not there, with the right namespace',
      'acme-wob::outputs/web/url',
      'acme-wob::outputs/web/url: there is no environment with the name or alias acme-wob; did you mean outputs/web/url?',
    ],
    [
      'an environment that is not there, with the platform',
      'plattform::outputs/keycloak/issuerUrl',
      'plattform::outputs/keycloak/issuerUrl: there is no environment with the name or alias plattform; did you mean platform::outputs/keycloak/issuerUrl?',
    ],
    [
      'a private value of no component',
      'secrets/app/api-key',
      'secrets/app/api-key: this environment has no component app; did you mean "api"?',
    ],
  ])('waits for %s', (_, text, reason) => {
    expect(resolve(text)).toEqual({ state: 'waiting', reason });
  });

  it.each([
    ['connections/database/password', 'secrets'],
    ['secrets/database/api-key', 'secrets'],
    ['configs/database/settings', 'configs'],
  ])('%s waits while the provider holds no %s', (text, held) => {
    const providerOf = () => ({ name: 'process', holdsSecrets: false });
    expect(resolve(text, { providerOf })).toEqual({
      state: 'waiting',
      reason: `${text}: provider process holds no ${held} yet`,
    });
  });

  it.each(['connections/database/password', 'secrets/app/api-key', 'configs/app/settings/db.host'])(
    'acme-web::%s is refused, with the reason and the right form',
    (path) => {
      const [type, component] = path.split('/');
      expect(resolve(`acme-web::${path}`)).toEqual({
        state: 'refused',
        code: 'reference.refused',
        message:
          `acme-web::${path}: ${type} never leave their namespace, only outputs do; in this environment write ${path}, ` +
          `or let acme-web publish an output and write acme-web::outputs/${component}/<key>`,
      });
    },
  );

  it.each(['shop-calm-bay-1234::outputs/api/url', 'shop-pr-7::outputs/api/url', 'shop-pr-7::secrets/api/key'])(
    '%s is refused, as it names its own environment',
    (text) => {
      expect(resolve(text)).toEqual({
        state: 'refused',
        code: 'reference.refused',
        message: `${text} names this very environment; write ${text.split('::')[1]}`,
      });
    },
  );

  it('is refused when the other environment refers back', () => {
    expect(resolve('mirror::outputs/web/url')).toEqual({
      state: 'refused',
      code: 'reference.cycle',
      message: 'mirror::outputs/web/url: environment mirror refers back to this one, so neither could ever come to rest',
    });
  });

  it.each(['constructor', 'toString', '__proto__', 'hasOwnProperty'])('finds nothing called %s in a prototype', (key) => {
    expect(resolve(`outputs/api/${key}`).state).toBe('waiting');
    expect(resolve(`platform::outputs/constructor/${key}`).state).toBe('waiting');
  });

  it('names only some when there are many', () => {
    const components = new Set(Array.from({ length: 1000 }, (_, index) => `component-${index}`));
    expect(resolve('outputs/nothing/url', { components, platform: {} })).toEqual({
      state: 'waiting',
      reason: expect.stringMatching(/component-9 and 990 more$/),
    });
  });
});
