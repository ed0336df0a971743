import { describe, expect, it } from 'vitest';
import { ManifestFaults, nameOf } from './manifest.ts';
import { parseManifests } from './parse-manifests.ts';

const configMap = (data: string, name = 'a'): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: ${name} }\ndata: ${data}\n`;

const faultsOf = (text: string): readonly string[] => {
  try {
    parseManifests(text, 'k8s/a.yaml');
    return [];
  } catch (error) {
    if (error instanceof ManifestFaults) return error.faults.map(({ message }) => message);
    throw error;
  }
};

const dataOf = (data: string): unknown => parseManifests(configMap(data), 'k8s/a.yaml')[0]?.object['data'];

describe('manifests', () => {
  it('are all documents of a file, each with its line', () => {
    const text = `# first\n---\n${configMap('{}')}---\n# nothing here\n---\n${configMap('{}', 'b')}...\n`;
    expect(parseManifests(text, 'a.yaml').map((one) => [nameOf(one), one.line])).toEqual([
      ['a', 3],
      ['b', 10],
    ]);
  });

  it('know where their values are', () => {
    const [one] = parseManifests(`---\n${configMap('\n  k: v')}`, 'a.yaml');
    expect(one?.place(['data', 'k'])).toEqual([6, 3]);
    expect(one?.place(['data', 'other'])).toBeUndefined();
  });

  it('are read as Kubernetes reads them', () => {
    expect(dataOf('{ mode: 0644, on: yes, time: 12:30:45, day: 2024-01-02, text: "0644" }')).toEqual({
      mode: 420,
      on: true,
      time: '12:30:45',
      day: '2024-01-02',
      text: '0644',
    });
    expect(dataOf('\n  <<: &x { a: b }\n  c: d')).toEqual({ a: 'b', c: 'd' });
  });

  it('may be the items of a list', () => {
    const items = ['a', 'b'].map((name) => `{ apiVersion: v1, kind: ConfigMap, metadata: { name: ${name} } }`);
    const all = parseManifests(`apiVersion: v1\nkind: List\nitems:\n- ${items.join('\n- ')}\n`, 'a.yaml');
    expect(all.map((one) => [nameOf(one), one.line])).toEqual([
      ['a', 4],
      ['b', 5],
    ]);
  });

  it('may hold a text of a megabyte', () => {
    const text = configMap(`\n  big: |\n${'    line of the file\n'.repeat(50_000)}`);
    expect(JSON.stringify(parseManifests(text, 'a.yaml')[0]?.object).length).toBeGreaterThan(800_000);
  });

  it.each([
    ['broken YAML', 'a: [', /^k8s\/a\.yaml:1: /],
    ['no map', 'text', /k8s\/a\.yaml:1: a manifest must be a map/],
    ['no kind', 'apiVersion: v1\nmetadata: { name: a }', /k8s\/a\.yaml:1: kind nothing is none/],
    ['a wrong apiVersion', 'apiVersion: latest\nkind: Service\nmetadata: { name: a }', /apiVersion "latest" is none/],
    [
      'one that is not served any more',
      'apiVersion: extensions/v1beta1\nkind: Deployment\nmetadata: { name: a }',
      /not served; write apps\/v1/,
    ],
    ['no name', 'apiVersion: v1\nkind: Service\nmetadata: {}', /name nothing, which Kubernetes refuses/],
    ['an impossible name', 'apiVersion: v1\nkind: Service\nmetadata: { name: ../x }', /name "\.\.\/x"/],
    ['a name that is generated', 'apiVersion: v1\nkind: Pod\nmetadata: { generateName: a- }', /generateName/],
    ['a key twice', `${configMap('{}')}data: {}`, /k8s\/a\.yaml:5: is given twice/],
    ['a prototype', configMap('{ __proto__: { a: b } }'), /not allowed as a name/],
    ['infinity', configMap('{ a: .inf }'), /cannot/],
    ['a tag', configMap('{ a: !!js/function "x" }'), /k8s\/a\.yaml:4/],
    ['depth', configMap('['.repeat(100) + ']'.repeat(100)), /nested more than 64 levels/],
  ])('with %s are refused', (_, text, message) => {
    expect(faultsOf(text)[0]).toMatch(message);
  });

  it('that grow when they are read are refused', () => {
    const bomb = ['a0: &a0 [x, x, x, x, x, x, x, x, x]'];
    for (let level = 1; level < 10; level += 1)
      bomb.push(`a${level}: &a${level} [${Array.from({ length: 9 }, () => `*a${level - 1}`).join(', ')}]`);
    expect(faultsOf(configMap(`\n  ${bomb.join('\n  ')}`))[0]).toMatch(/aliases/);
  });

  it('of more objects than an environment may have are refused', () => {
    const text = Array.from({ length: 5000 }, (_, index) => configMap('{}', `c${index}`)).join('---\n');
    expect(faultsOf(text)).toEqual([
      'k8s/a.yaml: there are more than 2000 objects, which is the most that an environment may have',
    ]);
  });

  it('show all that is wrong at once', () => {
    expect(faultsOf('kind: A\n---\nkind: B\n---\nkind: C\n').map((one) => one.slice(0, 12))).toEqual([
      'k8s/a.yaml:1',
      'k8s/a.yaml:3',
      'k8s/a.yaml:5',
    ]);
  });
});
