import { describe, expect, it } from 'vitest';
import { printFault } from './document.ts';
import { type ParsedSpec, parseSpec } from './parse.ts';
import type { Spec } from './schema.ts';
import { defaultTriggers } from './sections/triggers.ts';
import { findTemplateFaultAt } from './templates.ts';

const parse = (text: string): ParsedSpec => parseSpec(new TextEncoder().encode(text));

const faultsOf = (text: string): readonly string[] => {
  const parsed = parse(text);
  return parsed.ok ? [] : parsed.faults.map(printFault);
};

const specOf = (text: string): Spec => {
  const parsed = parse(text);
  if (!parsed.ok) throw new Error(parsed.faults.map(printFault).join('\n'));
  return parsed.spec;
};

const inFile = (fault: string): string => `eph.yaml:${fault}`;

/** The least a file can say, with more lines before `process` or other services. */
const file = (lines = '', services = '    web: { command: run }'): string =>
  `version: "1.0"\nname: shop\n${lines}process:\n  services:\n${services}\n`;

const topLevel =
  'version, name, providers, provider, triggers, environment, process, kubernetes, docker-compose, database, services, secrets, security, networking, hooks, observability, advanced, testing';

describe('a sound file', () => {
  it('fills in what is left out', () => {
    expect(parse(file())).toMatchObject({
      ok: true,
      spec: {
        version: '1.0',
        name: 'shop',
        providers: { primary: 'process' },
        triggers: defaultTriggers,
        environment: {},
        process: { services: { web: { command: 'run' } } },
      },
      triggers: defaultTriggers,
    });
  });

  it('may say everything there is to say', () => {
    const spec = specOf(`
version: "1.0"
name: shop
providers: { primary: process }
triggers:
  - type: git_branch
    patterns: ["feature/**", main]
  - type: git_tag
    patterns: [v*]
environment:
  name_template: "{project}-{ref_name}-{words}-{number}"
  env: { REGION: eu }
process:
  services:
    web:
      command: [node, server.js]
      directory: web
      env: { API: outputs/api/url }
      ready: { http: /healthz, timeout: 2m }
      depends_on: [api]
      entry: true
    api: { command: run api, ready: { tcp: true } }
    mail: { command: run mail, ready: { none: true, timeout: 500ms } }
`);
    expect(spec.triggers.map((trigger) => trigger.type)).toEqual(['git_branch', 'git_tag']);
    expect(spec.process?.services['web']).toMatchObject({
      command: ['node', 'server.js'],
      ready: { http: '/healthz', timeout: '2m' },
    });
    expect(spec.process?.services['mail']?.ready).toEqual({ none: true, timeout: '500ms' });
  });

  it.each([
    ['a byte order mark', `\ufeff${file()}`],
    ['lines that end as on Windows', file().replaceAll('\n', '\r\n')],
    ['comments and a document mark', `# ours\n---\n${file()}# end\n`],
    ['an alias', file('', '    a: &a { command: run }\n    b: *a')],
    ['a service called constructor', file('', '    constructor: { command: run }')],
  ])('may hold %s', (_, text) => {
    expect(faultsOf(text)).toEqual([]);
  });

  it('takes the value of a variable as it was written', () => {
    const written = ['1.0', '0x1F', '1e3', '12345678901234567890', 'True', 'yes', '08', '"quoted"', '-0', '.5'];
    const pairs = written.map((value, index) => `V${index}: ${value}`).join(', ');
    const expected = Object.fromEntries(written.map((value, index) => [`V${index}`, value.replaceAll('"', '')]));
    const spec = specOf(file(`environment: { env: { ${pairs} } }\n`, `    web: { command: run, env: { ${pairs} } }`));
    expect(spec.environment.env).toEqual(expected);
    expect(spec.process?.services['web']?.env).toEqual(expected);
  });

  it('keeps the order of services', () => {
    const services = ['web', 'api', 'mail', 'cache'];
    expect(
      Object.keys(specOf(file('', services.map((name) => `    ${name}: { command: run }`).join('\n'))).process?.services ?? {}),
    ).toEqual(services);
  });
});

describe('a key without a value', () => {
  it('is as good as left out wherever the platform may decide', () => {
    const text = file(
      'environment: { env: { A: , B: b }, resources: { cpu_limit: ~ } }\n',
      '    web: { command: run, directory: , env: { C: ~ }, replicas: null, ready: { timeout: , http: / } }',
    );
    const parsed = parse(text);
    expect(parsed).toMatchObject({
      ok: true,
      spec: {
        environment: { env: { B: 'b' }, resources: {} },
        process: { services: { web: { env: {}, ready: { http: '/' } } } },
      },
    });
    expect(JSON.stringify(parsed)).not.toContain('null');
  });

  it('is a fault where nobody else could', () => {
    expect(faultsOf(file('', '    web: { command: }\n    api:'))).toEqual([
      inFile('5:12: process.services.web.command: is required'),
      inFile('6:5: process.services.api: must be a map of keys and values, but there is no value'),
    ]);
  });
});

describe('a fault', () => {
  it('comes with all others, each with its place', () => {
    const text = `version: 1.0
nmae: shop
triggers:
  - type: git_branch
    patern: [main]
  - type: git_brunch
environment:
  name_template: "{branch}"
  env: { 1ST: x }
process:
  services:
    web:
      comand: run
      ready: { http: healthz, timeout: soon }
      entry: true
    Api: { command: run }
    mail: { command: run, entry: true, ready: { tcp: true, none: yes } }
`;
    expect(faultsOf(text)).toEqual([
      'eph.yaml:1:1: version: must be "1.0", in quotes',
      'eph.yaml:2:1: nmae: unknown key; did you mean "name"?',
      'eph.yaml:5:5: triggers.0.patern: unknown key; did you mean "pattern"?',
      'eph.yaml:6:5: triggers.1.type: must be "git_branch", "git_tag", "pr_label", "pr_comment" or "auto"; did you mean "git_branch"?',
      `eph.yaml:8:3: environment.name_template: ${findTemplateFaultAt('environment.name_template', '{branch}')}`,
      'eph.yaml:9:10: environment.env.1ST: is not a variable name; use letters, digits and _, and begin with no digit',
      'eph.yaml:11:3: process.services: only one service can be the entry',
      'eph.yaml:13:7: process.services.web.comand: unknown key; did you mean "command"?',
      'eph.yaml:14:16: process.services.web.ready.http: must be a path such as /healthz',
      'eph.yaml:14:31: process.services.web.ready.timeout: must be a duration such as 30s, 5m, 72h or 7d',
      'eph.yaml:16:5: process.services.Api: must be lower-case letters, digits and dashes, with a letter or digit at both ends, at most 63 characters',
      'eph.yaml:17:40: process.services.mail.ready: choose one of http, tcp and none',
      'eph.yaml:17:60: process.services.mail.ready.none: must be true',
    ]);
  });

  it.each<readonly [string, string, readonly string[]]>([
    ['nothing', '', ['1:1: the file is empty; it needs version, name and process']],
    ['only comments', '# to do\n', ['1:1: the file is empty; it needs version, name and process']],
    ['nothing but null', '~\n', ['1:1: the file is empty; it needs version, name and process']],
    ['a word', 'hello\n', ['1:1: the file must be a map of keys and values']],
    ['a list', '- a\n- b\n', ['1:1: the file must be a map of keys and values']],
    [
      'none of the required keys',
      'environment: {}\n',
      [
        '1:1: version: is required: "1.0"',
        '1:1: name: is required',
        '1:1: process: is required, or kubernetes, or docker-compose',
      ],
    ],
    ['another version', file().replace('1.0', '2.0'), ['1:1: version: must be "1.0"']],
    [
      'a name that is no DNS label',
      file().replace('shop', 'The Shop'),
      ['2:1: name: must be lower-case letters, digits and dashes, with a letter or digit at both ends, at most 63 characters'],
    ],
    ['a number for a name', file().replace('shop', '42'), ['2:1: name: must be text; put it in quotes']],
    ['a key without a value', file('triggers:\n'), ['3:1: triggers: must be a list, but there is no value']],
    ['a word for a list', file('triggers: main\n'), ['3:1: triggers: must be a list']],
    ['an empty list', file('triggers: []\n'), ['3:1: triggers: must not be empty']],
    ['a word for a map', file('triggers: [main]\n'), ['3:12: triggers.0: must be a map of keys and values']],
    [
      'a trigger without type',
      file('triggers: [{ patterns: [a] }]\n'),
      ['3:12: triggers.0.type: is required: "git_branch", "git_tag", "pr_label", "pr_comment" or "auto"'],
    ],
    [
      'patterns that are none',
      file('triggers: [{ type: git_tag, patterns: ["", 5, null] }]\n'),
      [
        '3:40: triggers.0.patterns.0: must not be empty',
        '3:44: triggers.0.patterns.1: must be text; put it in quotes',
        '3:47: triggers.0.patterns.2: must be text, but there is no value',
      ],
    ],
    [
      'more patterns than anybody needs',
      file(`triggers: [{ type: git_tag, patterns: [${'a, '.repeat(51)}] }]\n`),
      ['3:29: triggers.0.patterns: must have at most 50 entries'],
    ],
    [
      'more triggers than anybody needs',
      file(`triggers: [${'{ type: git_tag, patterns: [a] }, '.repeat(11)}]\n`),
      ['3:1: triggers: must have at most 10 entries'],
    ],
    [
      'a pattern longer than any ref name',
      file(`triggers: [{ type: git_tag, patterns: [${'a'.repeat(256)}] }]\n`),
      ['3:40: triggers.0.patterns.0: must have at most 255 characters'],
    ],
    [
      'a provider that cannot be a name',
      file('providers: { primary: My Cluster }\n'),
      [
        '3:14: providers.primary: must be lower-case letters, digits and dashes, with a letter or digit at both ends, at most 63 characters',
      ],
    ],
    [
      'more copies than a process has',
      file('', '    a: { command: a, replicas: 2 }'),
      ['5:22: process.services.a.replicas: must be 1, because `process` runs one copy of each service'],
    ],
    [
      'variables that are not text',
      file('environment: { env: { A: { b: 1 }, B: [1] } }\n'),
      ['3:23: environment.env.A: must be text', '3:36: environment.env.B: must be text'],
    ],
    ['no services', file('', '    {}'), ['4:3: process.services: must name at least one service']],
    [
      'services that are none',
      file('', '    a: run\n    b: {}\n    c: { command: 5 }\n    d: { command: [] }\n    e: { command: [1, x] }'),
      [
        '5:5: process.services.a: must be a map of keys and values',
        '6:5: process.services.b.command: is required',
        '7:10: process.services.c.command: must be text or a list; put it in quotes',
        '8:10: process.services.d.command: must not be empty',
        '9:20: process.services.e.command.0: must be text; put it in quotes',
      ],
    ],
    [
      'two entries',
      file('', '    a: { command: a, entry: true }\n    b: { command: b, entry: true }'),
      ['4:3: process.services: only one service can be the entry'],
    ],
    [
      'two ways to be ready',
      file('', '    a: { command: a, ready: { http: /, tcp: true } }'),
      ['5:22: process.services.a.ready: choose one of http, tcp and none'],
    ],
  ])('is found in a file with %s', (_, text, expected) => {
    expect(faultsOf(text)).toEqual(expected.map(inFile));
  });

  it.each([
    ['0s', 'must be longer than zero'],
    ['61m', 'must be at most 1h'],
    ['5', 'must be a duration such as 30s, 5m, 72h or 7d'],
    ['-1s', 'must be a duration such as 30s, 5m, 72h or 7d'],
    ['1y', 'must be a duration such as 30s, 5m, 72h or 7d'],
  ])('is found in the duration %s', (duration, message) => {
    expect(faultsOf(file('', `    web: { command: run, ready: { timeout: ${duration} } }`))).toEqual([
      inFile(`5:35: process.services.web.ready.timeout: ${message}`),
    ]);
  });

  it.each([
    ['{branch}', /^\{branch\} is not known here; .*\{project\}/],
    ['{project}-{}', /^\{\} is not known here; /],
    ['{Project}', /^\{Project\} is not known here; did you mean \{project\}/],
    ['', /^must not be empty$/],
    ['x'.repeat(201), /^must have at most 200 characters$/],
  ])('is found in the name template %j', (template, message) => {
    const at = inFile('4:3: environment.name_template: ');
    const [fault, ...others] = faultsOf(file(`environment:\n  name_template: "${template}"\n`));
    expect(others).toEqual([]);
    expect(fault?.slice(0, at.length)).toBe(at);
    expect(fault?.slice(at.length)).toMatch(message);
  });

  it('is one of at most fifty', () => {
    const services = Array.from({ length: 80 }, (_, index) => `    s${index}: {}`).join('\n');
    expect(faultsOf(file('', services))).toHaveLength(50);
  });

  it('shows no more of a key than fits on a line', () => {
    const [fault] = faultsOf(file(`? ${'long '.repeat(10_000)}\n: x\n`));
    expect(fault).toMatch(/^eph\.yaml:3:3: long long .*…: unknown key; allowed here: version, name/);
    expect(fault?.length).toBeLessThan(350);
  });
});

describe('a key', () => {
  it.each([
    ['at the top', 'procces: {}\n', '3:1: procces: unknown key; did you mean "process"?'],
    [
      'of the environment',
      'environment:\n  nametemplate: x\n',
      '4:3: environment.nametemplate: unknown key; did you mean "name_template"?',
    ],
    [
      'of a trigger',
      'triggers: [{ type: git_tag, patterns: [a], pattrens: [b] }]\n',
      '3:44: triggers.0.pattrens: unknown key; did you mean "patterns"?',
    ],
    ['unlike all others', 'colour: {}\n', `3:1: colour: unknown key; allowed here: ${topLevel}`],
    ['with a meaning in JavaScript', 'constructor: {}\n', `3:1: constructor: unknown key; allowed here: ${topLevel}`],
    ['that is a number', '5: x\n', `3:1: 5: unknown key; allowed here: ${topLevel}`],
    ['that is empty', ': x\n', `3:1: "": unknown key; allowed here: ${topLevel}`],
    ['that is null', '~: x\n', `3:1: ~: unknown key; allowed here: ${topLevel}`],
    ['that is a list', '? [a, b]\n: x\n', '3:3: a key must be text, not a list or a map'],
    ['given twice', 'name: again\n', '3:1: name: is given twice; keep one'],
    ['given twice in quotes', '"name": again\n', '3:1: name: is given twice; keep one'],
  ])('%s', (_, line, expected) => {
    expect(faultsOf(file(line))).toEqual([inFile(expected)]);
  });

  it.each([
    ['misspelt', 'dependson: [web]', '5:26: process.services.web.dependson: unknown key; did you mean "depends_on"?'],
    ['misspelt deeper', 'ready: { htp: / }', '5:35: process.services.web.ready.htp: unknown key; did you mean "http"?'],
    ['given twice', 'command: run', '5:26: process.services.web.command: is given twice; keep one'],
    ['for merging', '<<: {}', '5:26: process.services.web.<<: merge keys are not supported; repeat the keys here'],
  ])('of a service, %s', (_, key, expected) => {
    expect(faultsOf(file('', `    web: { command: run, ${key} }`))).toEqual([inFile(expected)]);
  });

  it('that is misspelt is not reported as missing too', () => {
    expect(faultsOf(file('', '    web: { comand: run }'))).toEqual([
      inFile('5:12: process.services.web.comand: unknown key; did you mean "command"?'),
    ]);
  });

  it('called __proto__ is refused wherever it stands, and reaches no prototype', () => {
    const text = file(
      '__proto__: { a: 1 }\nenvironment: { env: { __proto__: x } }\n',
      '    web: { command: run, __proto__: { entry: true } }',
    );
    expect(faultsOf(text)).toEqual(
      ['3:1: __proto__', '4:23: environment.env.__proto__', '7:26: process.services.web.__proto__'].map((at) =>
        inFile(`${at}: is not allowed as a name`),
      ),
    );
    expect(faultsOf(file('', '    __proto__: { command: run }'))).toContain(
      inFile('5:5: process.services.__proto__: is not allowed as a name'),
    );
    expect(Object.prototype).not.toHaveProperty('a');
  });
});

describe('text that is not YAML', () => {
  it.each([
    ['a tab', 'version: "1.0"\nprocess:\n\tservices:\n', ['3:1: indent with spaces; YAML allows no tabs here']],
    ['a missing colon', 'version: "1.0"\nname shop\n', ['2:1: a ":" is missing after this key']],
    [
      'a colon in a value',
      file('', '    web:\n      command: echo a: b'),
      ['6:16: a second ": " on one line; put the value in quotes'],
    ],
    [
      'a bracket that is left open',
      'triggers: [\n',
      ['2:1: the indentation does not fit the lines around it, or a bracket is not closed'],
    ],
    [
      'lines that do not fit',
      'process:\n    a: 1\n  b: 2\n',
      ['3:1: the indentation does not fit the lines around it, or a bracket is not closed'],
    ],
    [
      'a reserved character',
      file('', '    web: { command: @run }'),
      ['5:21: a value that begins with this character needs quotes'],
    ],
    [
      'a tag',
      file('', '    web: !service { command: run }'),
      [expect.stringMatching(/^5:10: tags, words that begin with "!", mean nothing here/)],
    ],
    ['an alias of nothing', file('', '    web: *base'), ['5:10: process.services.web: there is no &base before this']],
    [
      'an alias before its anchor',
      file('', '    a: *b\n    b: &b { command: run }'),
      ['5:8: process.services.a: there is no &b before this'],
    ],
    [
      'two anchors of one name',
      file('', '    a: &a { command: run }\n    b: &a { command: run }\n    c: *a'),
      ['6:11: process.services.b: there is another &a before this; give each a name of its own'],
    ],
    ['two documents', `${file()}---\n${file()}`, ['6:1: the file must hold one document; remove this one and the --- before it']],
  ])('because of %s', (_, text, expected) => {
    expect(faultsOf(text).map((fault) => fault.slice('eph.yaml:'.length))).toEqual(expected);
  });
});

describe('the triggers of a broken file', () => {
  const trigger = { type: 'git_branch', patterns: ['feature/**'] };
  const lines = 'triggers: [{ type: git_branch, patterns: ["feature/**"] }]\n';

  it.each([
    ['are read when something else is wrong', file(`${lines}colour: red\n`), [trigger]],
    ['are unknown when the file names none: they may be misspelt', file(lines.replace('triggers', 'trigers')), undefined],
    ['are unknown when they are what is wrong', file(lines.replace('git_branch', 'git_brunch')), undefined],
    ['are unknown when a key in them is given twice', file(lines.replace('type:', 'type: git_tag, type:')), undefined],
    ['are unknown when the file is no YAML', `${file(lines)}: [`, undefined],
    ['are unknown when the file is empty', '', undefined],
  ])('%s', (_, text, triggers) => {
    const parsed = parse(text);
    expect(parsed.ok).toBe(false);
    expect(parsed.triggers).toEqual(triggers);
  });
});
