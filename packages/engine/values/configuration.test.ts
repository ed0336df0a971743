import { type ConfigurationLayers, type ConfigurationView, failure, type Layer, type Policy, parseSpec } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { isSameFor } from './configuration.ts';

const parsed = parseSpec(
  new TextEncoder().encode('version: "1.0"\nname: shop\nprocess: { services: { web: { command: a }, api: { command: b } } }\n'),
);
const components = parsed.ok ? parsed.components : undefined;

const layer = (values: Layer['values']): Layer => ({
  source: { layer: 'cluster', file: 'dev/env.yaml', commit: null, place: () => undefined },
  values,
});

const deployment = { replicas: 2 };
const web = { env: { A: 'b' } };
const limits = { replicas: 3 };

interface Parts {
  readonly kinds?: Readonly<Record<string, Layer['values']>>;
  readonly overrides?: Readonly<Record<string, Layer['values']>>;
  readonly domain?: string;
  readonly limits?: Policy['limits'];
  readonly state?: 'current' | 'last-good';
  readonly fault?: string;
}

let views = 0;

/** As the reader makes them: a new view for every reading, made of the old parts where they are equal. */
const view = (parts: Parts = {}): ConfigurationView => {
  const { kinds = { Deployment: deployment, Database: {} }, overrides = { web }, state = 'current', fault } = parts;
  const pick = (from: Readonly<Record<string, Layer['values']>>, key: string): readonly Layer[] =>
    from[key] === undefined ? [] : [layer(from[key])];
  const layers: ConfigurationLayers = {
    defaultsOf: (kind) => pick(kinds, kind),
    overridesOf: (component) => pick(overrides, component),
    overridden: Object.keys(overrides),
    platform: { outputs: {} },
  };
  views += 1;
  return {
    state,
    commit: null,
    faults: fault === undefined ? [] : [failure('config.invalid', fault)],
    mark: String(views),
    layers,
    environment: { domain: parts.domain ?? 'example.org' },
    platform: { registry: 'registry.example.org' },
    policies: [{ limits: parts.limits ?? limits, setBy: 'dev/env.yaml', commit: null, placeOf: () => undefined }],
  };
};

const silent = (fault: string): ConfigurationView => ({
  state: 'missing',
  commit: null,
  mark: fault,
  faults: [failure('config.missing', fault)],
});

describe('a new reading of the configuration', () => {
  it.each<readonly [string, Parts]>([
    ['says the same from another commit', {}],
    ['speaks of a kind that the project has not', { kinds: { Deployment: deployment, Database: { storageGB: 5 } } }],
  ])('means nothing new when it %s', (_, parts) => {
    expect(isSameFor(components, view(), view(parts))).toBe(true);
  });

  it.each<readonly [string, Parts]>([
    ['the defaults of a kind', { kinds: { Deployment: { replicas: 3 } } }],
    ['all defaults of a kind', { kinds: {} }],
    ['an override', { overrides: { web: { env: { A: 'c' } } } }],
    ['a new override', { overrides: { web, api: { replicas: 2 } } }],
    ['a removed override', { overrides: {} }],
    ['an override for a component that the file has not', { overrides: { web, worker: { replicas: 2 } } }],
    ['the environment', { domain: 'example.com' }],
    ['a limit', { limits: { replicas: 2 } }],
    ['whether it is the newest', { state: 'last-good', fault: 'dev/env.yaml:1:1: not YAML' }],
  ])('is news when it changes %s', (_, parts) => {
    expect(isSameFor(components, view(), view(parts))).toBe(false);
    expect(isSameFor(components, view(parts), view())).toBe(false);
  });

  it('is news when another file is broken, or when none can be read any more', () => {
    expect(isSameFor(components, view({ fault: 'a' }), view({ fault: 'b' }))).toBe(false);
    expect(isSameFor(components, view(), silent('gone'))).toBe(false);
    expect(isSameFor(components, silent('gone'), silent('gone'))).toBe(true);
    expect(isSameFor(components, silent('gone'), silent('no branch'))).toBe(false);
  });

  it('concerns a file that cannot be understood in what holds for all', () => {
    expect(isSameFor(undefined, view(), view({ overrides: {} }))).toBe(true);
    expect(isSameFor(undefined, view(), view({ domain: 'example.com' }))).toBe(false);
  });
});
