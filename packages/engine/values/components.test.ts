import {
  commitSha,
  componentName,
  type DesiredComponent,
  environmentName,
  type Failure,
  type ObservedComponent,
  providerName,
  type ResolvedComponent,
  revision,
} from '@eph/contract';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createComponentInput, createLargeFile, fakeProvider, parseSound } from './component-input.fake.ts';
import type { SpecFile } from './component-layers.ts';
import { type ComponentInput, computeComponents } from './components.ts';
import { type AvailableProvider, chooseProviders } from './providers.ts';

type Services = { readonly [name: string]: { readonly [key: string]: unknown } };

const fileOf = (services: Services, env: { readonly [name: string]: unknown } = {}): SpecFile =>
  parseSound(JSON.stringify({ version: '1.0', name: 'shop', environment: { env }, process: { services } }));

const commit = commitSha('1'.repeat(40));

const input = (services: Services, changes: Partial<ComponentInput> = {}): ComponentInput =>
  createComponentInput(changes.file ?? fileOf(services), changes);

const compute = (of: ComponentInput): readonly DesiredComponent[] => {
  const { components, faults } = computeComponents(of);
  expect(faults).toEqual([]);
  return components;
};

const faultsOf = (of: ComponentInput): readonly Failure[] => {
  const { components, faults } = computeComponents(of);
  expect(components).toEqual([]);
  return faults;
};

/** A component as it looks when it runs what was asked for, or something else. */
const running = (component: ResolvedComponent, changes: Partial<ObservedComponent> = {}): ObservedComponent => ({
  name: component.name,
  provider: component.provider,
  entry: component.entry,
  dependsOn: component.dependsOn,
  current: {
    revision: component.revision,
    commit: component.commit,
    health: 'ready',
    message: '',
    since: '2026-01-05T09:00:00.000Z',
  },
  next: null,
  retiring: false,
  upstream: null,
  outputs: { url: `http://127.0.0.1/${component.name}` },
  ...changes,
});

const resolved = (desired: readonly DesiredComponent[], name: string): ResolvedComponent => {
  const found = desired.find((one) => one.state === 'resolved' && one.component.name === name);
  if (found?.state !== 'resolved') throw new Error(`${name} is not resolved: ${JSON.stringify(desired)}`);
  return found.component;
};

const reasonOf = (desired: readonly DesiredComponent[], name: string): string | undefined => {
  const found = desired.find((one) => one.state === 'waiting' && one.name === name);
  return found?.state === 'waiting' ? found.reason : undefined;
};

describe('a component that needs nobody', () => {
  it('is resolved at once, with everything a provider has to know', () => {
    const [web] = compute(input({ web: { command: 'run', directory: 'web', ready: { http: '/healthz', timeout: '5s' } } }));
    expect(web).toEqual({
      state: 'resolved',
      component: {
        name: 'web',
        provider: 'process',
        commit,
        artifact: `tree:${commit}`,
        entry: true,
        dependsOn: [],
        values: {
          command: 'run',
          directory: 'web',
          env: {
            EPH_PROJECT: 'shop',
            EPH_ENVIRONMENT: 'shop-calm-bay-1234',
            EPH_COMMIT: commit,
            EPH_REF: 'preview/a',
          },
          secretEnv: { EPH_URL: [{ url: true }] },
          ready: { kind: 'http', path: '/healthz' },
          readyTimeoutSeconds: 5,
        },
        revision: expect.stringMatching(/^[0-9a-f]{32}$/),
      },
    });
  });

  it.each<readonly [string, object | undefined, object]>([
    ['nothing', undefined, { ready: { kind: 'tcp' }, readyTimeoutSeconds: 60 }],
    ['a connection', { tcp: true }, { ready: { kind: 'tcp' }, readyTimeoutSeconds: 60 }],
    ['that it runs', { none: true, timeout: '500ms' }, { ready: { kind: 'none' }, readyTimeoutSeconds: 0.5 }],
    ['an answer', { http: '/' }, { ready: { kind: 'http', path: '/' }, readyTimeoutSeconds: 60 }],
  ])('is ready by %s', (_, ready, expected) => {
    const desired = compute(input({ web: { command: 'run', ...(ready === undefined ? {} : { ready }) } }));
    expect(resolved(desired, 'web').values).toMatchObject(expected);
  });

  it.each<readonly [string, Services, string]>([
    ['the first', { web: { command: 'run' }, api: { command: 'run' } }, 'web'],
    ['the one that says so', { web: { command: 'run' }, api: { command: 'run', entry: true } }, 'api'],
    [
      'the first, even if it comes last in the order of need',
      { web: { command: 'run', entry: false, depends_on: ['api'] }, api: { command: 'run' } },
      'web',
    ],
  ])('is the entry if it is %s', (_, services, entry) => {
    const first = compute(input(services));
    const observed = first.flatMap((one) => (one.state === 'resolved' ? [running(one.component)] : []));
    const desired = compute(input(services, { observed }));
    const entries = desired.flatMap((one) => (one.state === 'resolved' && one.component.entry ? [one.component.name] : []));
    expect(entries).toEqual([entry]);
  });

  it('sees the variables of the service over those of the environment over our own', () => {
    const services = { web: { command: 'run', env: { A: 'service', EPH_REF: 'mine' } } };
    const desired = compute(
      input(services, { file: fileOf(services, { A: 'environment', B: 'environment', EPH_URL: 'theirs' }) }),
    );
    expect(resolved(desired, 'web').values['env']).toMatchObject({
      A: 'service',
      B: 'environment',
      EPH_REF: 'mine',
      EPH_URL: 'theirs',
    });
  });
});

describe('a component that needs another', () => {
  const services: Services = { web: { command: 'run', entry: true, env: { API: 'outputs/api/url' } }, api: { command: 'run' } };
  const api = resolved(compute(input(services)), 'api');
  const look = (...observed: ObservedComponent[]): readonly DesiredComponent[] => compute(input(services, { observed }));
  const other = { ...api, revision: revision('f'.repeat(32)) };
  const starting = {
    revision: api.revision,
    commit,
    health: 'starting',
    message: 'it has just been started',
    since: '',
  } as const;
  const failing = { ...starting, health: 'failing', message: 'it exited with 1' } as const;

  it('comes after it', () => {
    expect(look().map((one) => (one.state === 'resolved' ? one.component.name : one.name))).toEqual(['api', 'web']);
  });

  it('is resolved with what the other publishes, once it runs the wanted version', () => {
    const web = resolved(look(running(api)), 'web');
    expect(web.values['env']).toMatchObject({ API: 'http://127.0.0.1/api' });
    expect(web.dependsOn).toEqual(['api']);
  });

  it.each<readonly [string, readonly ObservedComponent[], string]>([
    ['does not exist', [], 'outputs/api/url: api is not ready yet'],
    ['is starting', [running(api, { current: null, next: starting })], 'outputs/api/url: api is not ready yet'],
    [
      'does not get ready',
      [running(api, { current: null, next: failing })],
      'outputs/api/url: api does not get ready: it exited with 1',
    ],
    ['runs another version', [running(other)], 'outputs/api/url: api is not ready yet'],
    [
      'runs another version and the new one fails',
      [running(other, { next: failing })],
      'outputs/api/url: api does not get ready: it exited with 1',
    ],
    ['has broken down', [running(api, { current: failing })], 'outputs/api/url: api is not ready: it exited with 1'],
    [
      'publishes something else',
      [running(api, { outputs: { port: '1' } })],
      'outputs/api/url: api publishes no such output; there is: port',
    ],
  ])('waits, and says for what, while the other %s', (_, observed, reason) => {
    expect(look(...observed).find((one) => one.state === 'waiting')).toEqual({
      state: 'waiting',
      name: 'web',
      provider: 'process',
      code: 'reference.waiting',
      reason,
    });
  });

  it.each(['constructor', 'toString', '__proto__', 'hasOwnProperty'])(
    'finds no output called %s unless it is published',
    (key) => {
      const odd = { web: { command: 'run', env: { X: `outputs/api/${key}` } }, api: { command: 'run', entry: true } };
      const target = resolved(compute(input(odd)), 'api');
      expect(reasonOf(compute(input(odd, { observed: [running(target)] })), 'web')).toContain('api publishes no such output');
    },
  );

  it('waits as well when it only has to come later', () => {
    const later = { web: { command: 'run', depends_on: ['api'] }, api: { command: 'run' } };
    expect(reasonOf(compute(input(later)), 'web')).toBe('depends_on api: api is not ready yet');
  });

  it('waits when the other waits itself', () => {
    const chain = { a: { command: 'run' }, b: { command: 'run', depends_on: ['a'] }, c: { command: 'run', depends_on: ['b'] } };
    expect(reasonOf(compute(input(chain)), 'c')).toBe('depends_on b: b waits itself');
  });

  it('needs nothing when its own variable hides the reference of the environment', () => {
    const hiding = { web: { command: 'run', env: { API: 'http://fixed' } }, api: { command: 'run', env: { API: '' } } };
    const desired = compute(input(hiding, { file: fileOf(hiding, { API: 'outputs/api/url' }) }));
    expect(desired.map((one) => one.state)).toEqual(['resolved', 'resolved']);
  });

  it.each<readonly [string, Services, string]>([
    [
      'is not there',
      { web: { command: 'run', depends_on: ['apl'] }, api: { command: 'run' } },
      'depends_on apl names no component; did you mean "api"?',
    ],
    ['is itself', { api: { command: 'run', env: { SELF: 'outputs/api/url' } } }, 'in a circle: api → api'],
    [
      'needs it too',
      { a: { command: 'run', depends_on: ['b'] }, b: { command: 'run', env: { A: 'outputs/a/url' } } },
      'in a circle: a → b → a',
    ],
  ])('is a fault of the file when the other %s', (_, faulty, message) => {
    const [fault, ...others] = faultsOf(input(faulty));
    expect(fault).toMatchObject({ disposition: 'stall', message: expect.stringContaining(message) });
    expect(others).toEqual([]);
  });
});

describe('a component with a network of its own', () => {
  const services: Services = {
    web: { command: 'run', entry: true, env: { API: 'outputs/api/port', OTHER: 'http://127.0.0.1:5432' } },
    api: { command: 'run' },
  };
  const own = { hasOwnNetwork: () => true };
  const api = resolved(compute(input(services, own)), 'api');
  const see = (outputs: ObservedComponent['outputs']) =>
    resolved(compute(input(services, { ...own, observed: [running(api, { outputs })] })), 'web').network;

  it('reaches the ports of the machine that its references name, and none that its file writes', () => {
    expect(api.network).toEqual({ reaches: [] });
    expect(see({ url: 'http://127.0.0.1:20123', host: '127.0.0.1', port: '20123' })).toEqual({ reaches: [20_123] });
  });

  it('reaches no port of the machine where the other is elsewhere', () => {
    expect(see({ host: 'db.example', port: '5432' })).toEqual({ reaches: [] });
    expect(see({ port: '5432' })).toEqual({ reaches: [] });
  });

  it('is another revision than one that shares', () => {
    expect(resolved(compute(input(services)), 'api').revision).not.toBe(api.revision);
    expect(resolved(compute(input(services)), 'api')).not.toHaveProperty('network');
  });
});

describe('a component that moves to another provider', () => {
  const services: Services = { web: { command: 'run', entry: true, env: { API: 'outputs/api/url' } }, api: { command: 'run' } };
  const file = fileOf(services);
  const on = (provider: AvailableProvider, observed: readonly ObservedComponent[] = []): readonly DesiredComponent[] =>
    compute(input({}, { file, observed, providers: chooseProviders(file, [provider], observed, {}) }));
  const [here, there] = [fakeProvider('local', 'process'), fakeProvider('other', 'process')];
  const old = running(resolved(on(here), 'api'), { outputs: { url: 'http://old' } });
  const api = resolved(on(there), 'api');
  const fresh = running(api, { outputs: { url: 'http://new' } });
  const apiUrl = (...observed: ObservedComponent[]): unknown => resolved(on(there, observed), 'web').values['env'];

  it('serves its users from where it was, until it is ready where it goes', () => {
    expect(apiUrl(old)).toMatchObject({ API: 'http://old' });
    expect(apiUrl(old, { ...fresh, current: null, next: fresh.current })).toMatchObject({ API: 'http://old' });
    expect(apiUrl({ ...fresh, current: null, next: null }, old)).toMatchObject({ API: 'http://old' });
    expect(apiUrl(old, fresh)).toMatchObject({ API: 'http://new' });
    expect(apiUrl(fresh, old)).toMatchObject({ API: 'http://new' });
    expect(apiUrl(fresh)).toMatchObject({ API: 'http://new' });
  });

  it('is waited for when it is ready nowhere', () => {
    const failing = { ...old, current: { ...old.current, health: 'failing', message: 'it exited' } } as ObservedComponent;
    expect(reasonOf(on(there, [failing]), 'web')).toBe('outputs/api/url: api is not ready yet');
    const next = { ...fresh.current, health: 'failing', message: 'x' };
    const starting = { ...fresh, current: null, next } as ObservedComponent;
    expect(reasonOf(on(there, [failing, starting]), 'web')).toBe('outputs/api/url: api does not get ready: x');
  });

  it('is waited for when it is there already and is to change', () => {
    const other = { ...fresh, current: fresh.current && { ...fresh.current, revision: revision('f'.repeat(32)) } };
    expect(reasonOf(on(there, [other, old]), 'web')).toBe('outputs/api/url: api is not ready yet');
  });
});

describe('a revision', () => {
  const services: Services = {
    web: {
      command: ['node', 'server.js'],
      entry: true,
      env: { B: '2', A: '1' },
      ready: { http: '/', timeout: '5s' },
      directory: 'web',
    },
    api: { command: 'run' },
  };
  const revisionOf = (changes: Services = {}, more: Partial<ComponentInput> = {}): string =>
    resolved(compute(input({ ...services, ...changes }, more)), 'web').revision;
  const web = services['web'] ?? {};
  const { source, identity } = input(services);
  const withImage = (digit: string, commit = source.commit): Partial<ComponentInput> => {
    const reference = `docker.io/library/redis@sha256:${digit.repeat(64)}`;
    const images = { 'redis:7': { reference, tag: '7', commit, request: digit } };
    return { images: new Map([[componentName('web'), { state: 'found', images, slots: { image: 'redis:7' } }]]) };
  };

  it('is the same for the same values, whatever else is in the file', () => {
    expect(revisionOf()).toBe(revisionOf());
    expect(revisionOf({ api: { command: 'something else' }, mail: { command: 'run' } })).toBe(revisionOf());
  });

  it('does not depend on the order of anything in the file', () => {
    const reordered = (entries: readonly (readonly [string, unknown])[]) =>
      fc.shuffledSubarray([...entries], { minLength: entries.length });
    const order = fc.tuple(
      reordered(Object.entries(services)),
      reordered(Object.entries(web)),
      reordered(Object.entries(web['env'] ?? {})),
    );
    fc.assert(
      fc.property(order, ([all, keys, variables]) => {
        const again = { ...Object.fromEntries(keys), env: Object.fromEntries(variables) };
        const shuffled = Object.fromEntries(all.map(([name, one]) => [name, name === 'web' ? again : one])) as Services;
        expect(resolved(compute(input(shuffled)), 'web').revision).toBe(revisionOf());
      }),
    );
  });

  it.each<readonly [string, string]>([
    ['the command', revisionOf({ web: { ...web, command: ['node', 'other.js'] } })],
    ['a list instead of words', revisionOf({ web: { ...web, command: 'node server.js' } })],
    ['a variable', revisionOf({ web: { ...web, env: { A: '1', B: '3' } } })],
    ['a variable less', revisionOf({ web: { ...web, env: { A: '1' } } })],
    ['the probe', revisionOf({ web: { ...web, ready: { tcp: true, timeout: '5s' } } })],
    ['the timeout', revisionOf({ web: { ...web, ready: { http: '/', timeout: '6s' } } })],
    ['the directory', revisionOf({ web: { ...web, directory: 'other' } })],
    ['the entry', revisionOf({ web: { ...web, entry: false }, api: { command: 'run', entry: true } })],
    ['the commit', revisionOf({}, { source: { ...source, commit: commitSha('2'.repeat(40)) } })],
    ['an image', revisionOf({ web: { ...web, image: 'redis:7' } }, withImage('1'))],
    ['the name', revisionOf({}, { identity: { ...identity, name: environmentName('other') } })],
  ])('changes with %s', (_, changed) => {
    expect(changed).not.toBe(revisionOf());
  });

  it('changes with the digest of an image, and not with its tag or the commit that it was found for', () => {
    const asked = { web: { ...web, image: 'redis:7' } };
    expect(revisionOf(asked, withImage('2'))).not.toBe(revisionOf(asked, withImage('1')));
    expect(revisionOf(asked, withImage('1', commitSha('3'.repeat(40))))).toBe(revisionOf(asked, withImage('1')));
  });

  it('does not change with the address of the environment, which is filled in at each start', () => {
    const url = 'http://elsewhere';
    expect(revisionOf({}, { url })).toBe(revisionOf());
    const asked = { web: { ...web, env: { CALLBACK: '${environment_url}/done' } } };
    expect(revisionOf(asked, { url })).toBe(revisionOf(asked));
    expect(revisionOf(asked)).not.toBe(revisionOf());
  });

  it('changes with an output it refers to', () => {
    const both: Services = { web: { command: 'run', env: { API: 'outputs/api/url' } }, api: { command: 'run' } };
    const api = resolved(compute(input(both)), 'api');
    const at = (url: string): string =>
      resolved(compute(input(both, { observed: [running(api, { outputs: { url } })] })), 'web').revision;
    expect(at('http://127.0.0.1:1')).toBe(at('http://127.0.0.1:1'));
    expect(at('http://127.0.0.1:1')).not.toBe(at('http://127.0.0.1:2'));
  });

  it('is not fooled by values that print alike', () => {
    const values = ['a', 'a"', 'a\\', 'a,b', '{"a":1}', '["a"]', '', 'null', '1'];
    expect(new Set(values.map((value) => revisionOf({ web: { ...web, env: { A: value, B: '2' } } }))).size).toBe(values.length);
  });
});

describe('a thousand components', () => {
  it('in a chain come up one after the other', { timeout: 60_000 }, () => {
    const file = createLargeFile(1000, (index) => ({ needs: index === 0 ? [] : [`c${index - 1}`] }));
    const desired = compute(input({}, { file }));
    expect(desired.filter((one) => one.state === 'resolved')).toHaveLength(1);
    const first = resolved(desired, 'c0');
    const next = compute(input({}, { file, observed: [running(first)] }));
    expect(resolved(next, 'c1').dependsOn).toEqual([componentName('c0')]);
    expect(next.filter((one) => one.state === 'waiting')).toHaveLength(998);
    expect(first.provider).toBe(providerName('process'));
  });
});
