import { describe, expect, it } from 'vitest';
import { printFault } from '../spec/document.ts';
import { type PlacedRule, parseAccessFile, placeRules } from './rules.ts';

const parse = (text: string): ReturnType<typeof parseAccessFile> => parseAccessFile(Buffer.from(text), 'dev/access.yaml');

const faultsOf = (text: string): readonly string[] => {
  const parsed = parse(text);
  return parsed.ok ? [] : parsed.faults.map(printFault);
};

const rulesOf = (text: string): readonly PlacedRule[] => {
  const parsed = parse(text);
  if (!parsed.ok) throw new Error(parsed.faults.map(printFault).join('\n'));
  return placeRules(parsed.value.rules, { file: 'dev/access.yaml', places: parsed.places, at: ['rules'] });
};

const rule = (keys: string): string => `rules:\n  - { ${keys} }\n`;

describe('access.yaml', () => {
  it('holds rules, each with its line', () => {
    const text = `rules:
  - who: { group: shop-team }
    role: developer
    projects: [shop, "shop-*"]
    except: [payments]
  - who:
      - person: https://id.example.com#4711
      - ci: acme/shop
    deny: true
    labels: [payments]
`;
    expect(rulesOf(text)).toEqual([
      {
        who: [{ group: 'shop-team' }],
        role: 'developer',
        projects: ['shop', 'shop-*'],
        labels: undefined,
        except: ['payments'],
        place: 'dev/access.yaml:2',
      },
      {
        who: [{ person: 'https://id.example.com#4711' }, { ci: 'acme/shop' }],
        role: undefined,
        projects: undefined,
        labels: ['payments'],
        except: [],
        place: 'dev/access.yaml:6',
      },
    ]);
  });

  it('gives nobody the role admin', () => {
    expect(faultsOf(rule('who: { group: a }, role: admin'))).toEqual([
      'dev/access.yaml:2:26: rules.0.role: admin is given only by access.rules in the file of ephd',
    ]);
  });

  it.each([
    ['who: { group: a }', 'rules.0.role: is required, or deny'],
    ['who: { group: a }, role: viewer, deny: true', 'rules.0.deny: excludes role; keep one of them'],
    ['who: { group: a }, role: boss', 'rules.0.role: must be "viewer", "developer", "operator" or "admin"'],
    ['who: { group: a }, role: viewr', 'did you mean "viewer"?'],
    ['who: { group: a }, deny: false', 'rules.0.deny: must be true'],
    ['role: viewer', 'rules.0.who: '],
    ['who: {}, role: viewer', 'rules.0.who: must name one of person, group and ci; write several as a list'],
    ['who: { group: a, ci: b }, role: viewer', 'must name one of person, group and ci; write several as a list'],
    ['who: { grup: a }, role: viewer', 'unknown key; did you mean "group"?'],
    ['who: [], role: viewer', 'rules.0.who: must not be empty'],
    ['who: { person: ann@example.com }, role: viewer', 'must be <issuer>#<subject>, such as https://id.example.com#4711'],
    ['who: { group: a }, role: viewer, projects: [Shop]', 'rules.0.projects.0: must be the name of a project'],
    ['who: { group: a }, role: viewer, projects: []', 'rules.0.projects: must not be empty'],
    ['who: { group: a }, role: viewer, labels: [a b]', 'rules.0.labels.0: must be letters, digits'],
    ['who: { group: a }, role: viewer, excpt: [x]', 'unknown key; did you mean "except"?'],
  ])('refuses %s', (keys, fault) => {
    expect(faultsOf(rule(keys)).join('\n')).toContain(fault);
  });

  it.each([
    ['', 'the file is empty; it needs rules, which may be an empty list'],
    ['- who: { group: a }\n', 'the file must be a map of keys and values'],
    ['rules: {}\n', 'rules: must be a list'],
  ])('refuses a file with %j', (text, fault) => {
    expect(faultsOf(text).join('\n')).toContain(fault);
  });

  it('may have no rules', () => {
    expect(rulesOf('rules: []\n')).toEqual([]);
  });
});
