import { describe, expect, it } from 'vitest';
import { availableIn, findUnavailable } from './availability.ts';
import { printFault } from './document.ts';
import { type ParsedSpec, parseSpec } from './parse.ts';
import { shippedSections } from './sections.ts';

const parse = (text: string): Extract<ParsedSpec, { ok: true }> => {
  const parsed = parseSpec(
    new TextEncoder().encode(
      `version: "1.0"\nname: shop\nprocess: { services: { web: { command: run, entry: true } } }\n${text}`,
    ),
  );
  if (!parsed.ok) throw new Error(parsed.faults.map(printFault).join('\n'));
  return parsed;
};

const noticesOf = (text: string): readonly string[] =>
  parse(text).notices.map((notice) => printFault({ file: 'eph.yaml', ...notice }));
const guardsOf = (text: string): readonly string[] =>
  parse(text).guards.map((guard) => printFault({ file: 'eph.yaml', ...guard }));

describe('what this version does', () => {
  it.each([
    [
      'triggers',
      'triggers: [{ type: git_branch, pattern: a, paths: [src/**] }, { type: pr_label, labels: [b], wait_for_checks: [c] }]\n',
    ],
    ['the environment', 'environment: { name_template: x, env: { A: b } }\n'],
    ['the provider', 'provider: process\n'],
    [
      'what holds anyway',
      'security: { naming: { strategy: readable, include_project: true }, environment_access: { default: public } }\n',
    ],
    ['what is switched off', 'database: { enabled: false }\nnetworking: { tls: { enabled: false } }\n'],
    ['sections of which only the name is left', 'advanced:\n'],
    [
      'secrets of the cluster',
      'provider: kubernetes\nkubernetes: { manifests: [k8s] }\nsecrets: { provider: kubernetes, kubernetes: { copy_from_namespace: shared, secrets: [a] } }\n',
    ],
    [
      'annotations for metrics, in a cluster',
      'provider: kubernetes\nkubernetes: { manifests: [k8s] }\nobservability: { metrics: { enabled: true, annotations: { a/b: c } } }\n',
    ],
    ['a header', 'networking: { routing: { strategy: header, header: X-Eph-Environment } }\n'],
  ])('needs no notice: %s', (_, text) => {
    expect(noticesOf(text)).toEqual([]);
    expect(guardsOf(text)).toEqual([]);
  });
});

describe('what this version does not do', () => {
  it.each<readonly [string, string, readonly string[]]>([
    [
      'a key',
      'environment: { idle_timeout: 4h }\n',
      ['4:16: environment.idle_timeout: is not available yet; it is read and has no effect'],
    ],
    [
      'a section',
      'hooks: { post_create: [{ name: a, command: b }] }\n',
      ['4:1: hooks: is not available yet; it is read and has no effect'],
    ],
    [
      'amounts that a process is not held to',
      'environment: { resources: { cpu_request: 2 } }\n',
      ['4:29: environment.resources.cpu_request: is compared with the limits of the server, and has no other effect yet'],
    ],
    [
      'a value',
      'networking: { routing: { strategy: path, path_prefix: /a } }\n',
      ['4:26: networking.routing.strategy: path is not available yet; it is read and has no effect'],
    ],
    [
      'another header',
      'networking: { routing: { strategy: header, header: X-Env } }\n',
      ['4:44: networking.routing.header: X-Env is not available yet; it is read and has no effect'],
    ],
    [
      'keys of later',
      'advanced: { regions: [a], canary: { enabled: true } }\ntesting: { chaos: [{ name: a, schedule: "* * * * *", action: b }] }\n',
      [
        '4:13: advanced.regions: is not available yet; it is read and has no effect',
        '4:27: advanced.canary: is not available yet; it is read and has no effect',
        '5:12: testing.chaos: is not available yet; it is read and has no effect',
      ],
    ],
    [
      'another provider',
      'provider: docker-compose\ndocker-compose: {}\n',
      ['5:1: docker-compose: is not available yet; it is read and has no effect'],
    ],
    [
      'secrets of a cluster, without a cluster',
      'secrets: { kubernetes: { secrets: [a] } }\n',
      ['4:1: secrets: is not available yet; it is read and has no effect'],
    ],
    [
      'annotations for metrics, without a cluster',
      'observability: { metrics: { annotations: { a/b: c } } }\n',
      ['4:29: observability.metrics.annotations: is not available yet; it is read and has no effect'],
    ],
    [
      'secrets from elsewhere',
      'provider: kubernetes\nkubernetes: { manifests: [k8s] }\nsecrets: { provider: vault, vault: { path: a } }\n',
      ['6:12: secrets.provider: vault is not available yet; it is read and has no effect'],
    ],
    [
      'a database',
      'database: { instances: [{ name: a, type: postgres }] }\n',
      ['4:13: database.instances: is not available yet; it is read and has no effect'],
    ],
  ])('is told: %s', (_, text, expected) => {
    expect(noticesOf(text)).toEqual(expected.map((notice) => `eph.yaml:${notice}`));
    expect(guardsOf(text)).toEqual([]);
  });
});

describe('protection that this version cannot give', () => {
  const open = 'is not available yet; no environment is started from this file rather than one that is open to all';
  it.each([
    ['by default', '{ default: protected }', `default: protected ${open}`],
    [
      'by a password',
      '{ protection: { type: basic, basic_auth: { username: a, password: "${P}" } } }',
      `protection.type: basic ${open}`,
    ],
    [
      'by a password without its type',
      '{ protection: { basic_auth: { username: a, password: "${P}" } } }',
      `protection.basic_auth: it ${open}`,
    ],
    [
      'by a login',
      '{ default: public, protection: { type: oauth, oauth: { provider: github } } }',
      `protection.type: oauth ${open}`,
    ],
    ['by addresses', '{ default: public, allowed_ips: [192.0.2.0/24] }', `allowed_ips: it ${open}`],
  ])('is a guard and not a notice: %s', (_, access, expected) => {
    const text = `security: { environment_access: ${access} }\n`;
    expect(guardsOf(text)).toEqual([
      expect.stringMatching(new RegExp(`: security\\.environment_access\\.${RegExp.escape(expected)}$`)),
    ]);
    expect(noticesOf(text)).toEqual([]);
  });
});

describe('a file of any shape', () => {
  it.each([[null], [[]], ['x'], [5], [{ triggers: 5, security: [], environment: null }]])(
    '%j is looked at without harm',
    (raw) => {
      expect(() => findUnavailable(raw, availableIn(shippedSections))).not.toThrow();
    },
  );
});
