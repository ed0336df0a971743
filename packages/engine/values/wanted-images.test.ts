import { commitSha, environmentName, type Failure, noConfiguration, providerName, type WantedImage } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { createComponentInput, fakeProvider, parseSound } from './component-input.fake.ts';
import {
  computeEnvironment,
  type EnvironmentInput,
  explainEnvironment,
  findAskedImages,
  isAllowedRepository,
} from './environment.ts';
import { SharedValues } from './shared-values.ts';

const commit = commitSha('1234567890'.repeat(4));

const fileWith = (images: string, image = 'api'): string => `version: "1.0"
name: shop
${images === '' ? '' : `environment: { images: [${images}] }`}
process: { services: { web: { command: run, image: "${image}" } } }
`;

const inputOf = (text: string, changes: Partial<EnvironmentInput> = {}): EnvironmentInput => {
  const parsed = parseSound(text);
  const input = createComponentInput(parsed);
  return {
    ...input,
    parsed,
    source: { ...input.source, ref: { kind: 'pr', name: '7' }, commit },
    identity: { ...input.identity, name: environmentName('shop-calm-bay-1234') },
    configuration: {
      state: 'current',
      commit: null,
      faults: [],
      layers: noConfiguration,
      policies: [],
      platform: {},
      environment: {},
    },
    providers: [fakeProvider('process')],
    countOthers: () => undefined,
    shared: new SharedValues(),
    ...changes,
  } as EnvironmentInput;
};

const askedOf = (text: string, changes: Partial<EnvironmentInput> = {}): WantedImage | undefined =>
  findAskedImages(inputOf(text, changes))[0]?.image;

const faultsOf = (text: string): readonly string[] =>
  computeEnvironment(inputOf(text)).faults.map(({ message }: Failure) => message);

describe('an image that a component names', () => {
  it('is an entry of the file, with its templates filled in', () => {
    const entry = `{ name: api, repository: ghcr.io/acme/api, tag_source: git_note, tag_template: "{ref_type}-{pr_number}-{commit_sha:0:7}",
      tag_pattern: "pr-{pr_number}-*", max_age: 7d, required_labels: ["eph.io/commit={commit_sha}", "a=b=c"], fallback_tag: latest }`;
    expect(askedOf(fileWith(entry))).toEqual({
      name: 'api',
      isOnly: true,
      repository: 'ghcr.io/acme/api',
      notes: 'eph-images',
      tag: { text: 'pr-7-1234567' },
      pattern: { text: 'pr-7-*' },
      fallbackTag: 'latest',
      whenMissing: 'use-fallback',
      maxAgeSeconds: 604_800,
      requiredLabels: { 'eph.io/commit': commit, a: 'b=c' },
      followsTag: false,
    });
  });

  it('is a reference with a tag or a digest', () => {
    const digest = `sha256:${'a'.repeat(64)}`;
    expect(askedOf(fileWith('', 'redis:7'))).toMatchObject({
      name: 'redis:7',
      repository: 'docker.io/library/redis',
      fixed: '7',
    });
    expect(askedOf(fileWith('', `ghcr.io/acme/x:1@${digest}`))).toMatchObject({ repository: 'ghcr.io/acme/x', fixed: digest });
  });

  it('is for the platform of its provider, or the one that its entry names', () => {
    const providers = [{ ...fakeProvider('process'), platform: 'linux/amd64', name: providerName('process') }];
    const entry = (more: string): string => fileWith(`{ name: api, repository: r.io/a, tag: v1${more} }`);
    expect(askedOf(entry(''), { providers })?.platform).toBe('linux/amd64');
    expect(askedOf(entry(', platform: linux/arm64'), { providers })?.platform).toBe('linux/arm64');
    expect(askedOf(entry(''))?.platform).toBeUndefined();
  });

  it.each([
    ['fail without a fall-back', '', 'fail'],
    ['use the fall-back that there is', ', fallback_tag: latest', 'use-fallback'],
    ['do what the file says', ', fallback_tag: latest, fallback_behavior: wait', 'wait'],
  ])('that is not there may %s', (_, more, behaviour) => {
    expect(askedOf(fileWith(`{ name: api, repository: r.io/a, tag_template: x${more} }`))?.whenMissing).toBe(behaviour);
  });

  it('has no tag where the source lacks what the template puts in, or where the tag is too long', () => {
    const entry =
      '{ name: api, repository: r.io/a, tag_template: "pr-{branch_name}", tag_pattern: "{commit_sha}{commit_sha}{commit_sha}{commit_sha}" }';
    expect(askedOf(fileWith(entry))).toMatchObject({
      tag: { fault: expect.stringContaining('branch_name') },
      pattern: { fault: 'tag_pattern makes more than 128 characters' },
    });
  });

  it.each([
    ['api', '{ name: apis, repository: r.io/a, tag: v1 }', 'did you mean "apis"?'],
    ['redis', '', 'neither an entry of environment.images nor an image with a tag or a SHA-256 digest'],
    [`redis@sha512:${'a'.repeat(128)}`, '', 'a SHA-256 digest'],
    ['ghcr.io/../x:1', '', 'neither an entry'],
  ])('%j is a fault with its place', (image, entries, message) => {
    expect(faultsOf(fileWith(entries, image))).toEqual([expect.stringMatching(/^eph\.yaml:4:\d+: /)]);
    expect(faultsOf(fileWith(entries, image))[0]).toContain(message);
    expect(explainEnvironment(inputOf(fileWith(entries, image))).problems).toEqual(faultsOf(fileWith(entries, image)));
  });

  it('cannot require a label that the source cannot have', () => {
    const entry = '{ name: api, repository: r.io/a, tag: v1, required_labels: ["b={branch_name}"] }';
    expect(faultsOf(fileWith(entry))).toEqual([expect.stringMatching(/^eph\.yaml:3:\d+: environment\.images\.0: .*branch_name/)]);
  });
});

it('a repository is allowed where every policy allows it', () => {
  const policy = (registries?: readonly string[]) => ({ limits: registries === undefined ? {} : { registries } });
  const configuration = (...policies: readonly unknown[]) => ({ policies }) as unknown as EnvironmentInput['configuration'];
  expect(isAllowedRepository(configuration(), 'ghcr.io/acme/x')).toBe(true);
  expect(isAllowedRepository(configuration(policy(), policy(['ghcr.io/acme'])), 'ghcr.io/acme/x')).toBe(true);
  expect(isAllowedRepository(configuration(policy(['ghcr.io']), policy(['docker.io'])), 'ghcr.io/acme/x')).toBe(false);
});
