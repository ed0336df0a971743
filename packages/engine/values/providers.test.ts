import type { ObservedComponent } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { fakeProvider, parseSound } from './component-input.fake.ts';
import { chooseProviders } from './providers.ts';

const sections = {
  process: 'process: { services: { web: { command: run } } }\n',
  kubernetes: 'kubernetes: { manifests: [./k8s] }\n',
};

const providers = [
  fakeProvider('local', 'process'),
  fakeProvider('spare', 'process'),
  fakeProvider('eu', 'kubernetes'),
  fakeProvider('toys', 'toy'),
];

const choose = (
  choice: string,
  { on = [] as readonly string[], has = ['process', 'kubernetes'] as readonly (keyof typeof sections)[], of = providers } = {},
) => {
  const text = `version: "1.0"\nname: shop\n${choice}\n${has.map((one) => sections[one]).join('')}`;
  const observed = on.map((provider) => ({ name: 'web', provider }) as unknown as ObservedComponent);
  const { used, choice: section, faults, remarks } = chooseProviders(parseSound(text), of, observed);
  return { names: used.map(({ provider }) => provider.name), section, faults: faults.map(({ message }) => message), remarks };
};

describe('the provider of an environment', () => {
  it.each<readonly [string, string, readonly string[], string]>([
    ['the one that is named', 'provider: spare', [], 'spare'],
    ['the first of its type', 'provider: process', [], 'local'],
    ['the primary one', 'providers: { primary: eu, fallback: process }', [], 'eu'],
    ['the fallback, when there is no primary one', 'providers: { primary: us, fallback: spare }', [], 'spare'],
    ['where the environment is, of its type', 'provider: process', ['spare'], 'spare'],
    ['where the environment is, on the fallback', 'providers: { primary: eu, fallback: process }', ['spare'], 'spare'],
    ['not where it is, once the file chooses another', 'provider: eu', ['local'], 'eu'],
    ['of two where it is, the primary one', 'providers: { primary: kubernetes, fallback: process }', ['local', 'eu'], 'eu'],
    ['of two where it is, the first of the file', 'provider: process', ['spare', 'local'], 'local'],
  ])('is %s', (_, choice, on, expected) => {
    expect(choose(choice, { on })).toMatchObject({ names: [expected], faults: [] });
  });

  it('gives its section', () => {
    expect(choose('provider: eu').section).toBe('kubernetes');
    expect(choose('providers: { primary: us, fallback: spare }').section).toBe('process');
  });

  it('is a fallback only with a remark', () => {
    const both = 'providers: { primary: kubernetes, fallback: process }';
    expect(choose(both).remarks).toEqual([]);
    expect(choose(both, { of: providers.slice(0, 2) }).remarks).toEqual([
      'provider kubernetes is not configured here; fallback process is used',
    ]);
    expect(choose(both, { on: ['local'] }).remarks).toEqual([
      'fallback process is still used; an environment moves to provider kubernetes only when eph.yaml changes its choice',
    ]);
  });

  it('needs its section', () => {
    expect(choose('provider: eu', { has: ['process'] }).faults).toEqual([
      'eph.yaml:3:1: providers.primary: provider eu is of type kubernetes, and eph.yaml has no section kubernetes',
    ]);
  });

  it('is a fault when this server has none of those asked for', () => {
    expect(choose('providers: { primary: us, fallback: asia }')).toMatchObject({
      names: [],
      faults: [
        'provider us is not configured here; this server has local (process), spare (process), eu (kubernetes), toys (toy)',
      ],
    });
  });
});
