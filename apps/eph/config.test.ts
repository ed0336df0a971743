import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { configViewSchema, specLimitBytes, validationSchema } from '@eph/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { largestBytes } from './commands/config-validate.ts';
import { type FakeEphd, fakeConfig, fakeEnvironment, fakeOrigin, fakeValue, startFakeEphd } from './ephd.fake.ts';
import { exitCodes } from './exit-codes.ts';
import { eph, type Result, type SessionOptions } from './terminal.fake.ts';

let ephd: FakeEphd;
let folder: string;
beforeEach(async () => {
  ephd = await startFakeEphd();
  ephd.environments = [fakeEnvironment()];
  folder = await mkdtemp(join(tmpdir(), 'eph-config-'));
});
afterEach(async () => {
  await ephd.close();
  await rm(folder, { recursive: true, force: true });
});

const ask = (args: readonly string[], options: SessionOptions = {}): Promise<Result> =>
  eph(['config', ...args, '--server', ephd.address], { folder, ...options });

const oneValue = (value: ReturnType<typeof fakeValue>) =>
  fakeConfig({ components: [{ name: 'web', kind: 'Deployment', provider: 'process', values: [value] }] });

describe('config explain', () => {
  it('says of every value which layer, file and line it comes from', async () => {
    const { code, out } = await ask(['explain']);
    expect(code).toBe(exitCodes.ok);
    expect(out.split('\n')).toStrictEqual([
      'shop-serene-ocean-4207  eph.yaml at 1a2b3c4d, configuration at f0e1d2c3',
      '',
      'web  Deployment by process',
      '  KEY            VALUE                                    FROM',
      '  command        ["node","web.mjs"]                       eph.yaml:20',
      '  replicas       2                                        override dev/apps/shop/shop/env.yaml:9 @f0e1d2c3 (not used by process)',
      '  env.API_URL    outputs/api/url → http://127.0.0.1:4567  eph.yaml:24',
      '  env.TOKEN      ••••••                                   cluster dev/env.yaml:14 @f0e1d2c3',
      '  ready.timeout  60s                                      built in',
      '',
      'api  Deployment by process',
      '  KEY       VALUE  FROM',
      '  replicas  1      cluster dev/env.yaml:12 @f0e1d2c3 (not used by process)',
      '',
    ]);
    expect(ephd.requests).toStrictEqual([
      'GET /api/v1/environments?limit=1000',
      'GET /api/v1/environments/0123456789abcdef/config',
    ]);
  });

  it('shows for the path of one value what the layers below say', async () => {
    expect((await ask(['explain', 'web.replicas'])).out.split('\n').slice(3)).toStrictEqual([
      '  KEY       VALUE  FROM',
      '  replicas  2      override dev/apps/shop/shop/env.yaml:9 @f0e1d2c3 at overrides.web.replicas (not used by process)',
      '                   over 5 from eph.yaml:12 at process.services.web.replicas',
      '                   over 1 from cluster dev/env.yaml:12 @f0e1d2c3 at defaults.Deployment.replicas',
      '',
    ]);
    const all = (await ask(['explain', '--all'])).out;
    expect(all).toContain('over 5 from eph.yaml:12');
    expect(all).toContain('outputs/api/url → ');
  });

  it('takes the beginning of a path, and a path in every component', async () => {
    const env = (await ask(['explain', 'web.env'])).out;
    expect(env).toContain('env.API_URL');
    expect(env).toContain('env.TOKEN');
    expect(env).not.toMatch(/command|api {2}Deployment/);
    const replicas = (await ask(['explain', 'replicas'])).out;
    expect(replicas.match(/^ {2}replicas .*$/gm)).toHaveLength(2);
    expect(replicas).toContain('over 5 from');
    const web = (await ask(['explain', 'web'])).out;
    expect(web).toContain('ready.timeout');
    expect(web).not.toContain('over 5 from');
  });

  it('compares keys that hold dots as they are written', async () => {
    ephd.config = oneValue(fakeValue('', '9090', { path: ['annotations', 'prometheus.io/port'] }));
    expect((await ask(['explain', 'web.annotations.prometheus.io/port'])).out).toContain(
      'annotations.prometheus.io/port  "9090"',
    );
  });

  it.each([
    ['web.evn', 'Did you mean web.env?'],
    ['web.env.API_ULR', 'Did you mean web.env.API_URL?'],
    ['replica', 'Did you mean replicas?'],
    ['web.something.else', 'web has: command, replicas, env, ready.'],
    ['database.main', 'The components are: web, api.'],
  ])('of the unknown path %s proposes what is there', async (path, advice) => {
    const { code, out, err } = await ask(['explain', path]);
    expect({ code, out, err }).toStrictEqual({
      code: exitCodes.notFound,
      out: '',
      err: `eph: There is no value "${path}". ${advice}\n`,
    });
  });

  it('writes text so that it is not taken for anything else', async () => {
    for (const [value, shown] of [
      ['5', '"5"'],
      [5, '5'],
      ['', '""'],
      ['true', '"true"'],
      [null, 'null'],
      [' x', '" x"'],
      ['10.0.0.1', '10.0.0.1'],
      ['a b', 'a b'],
      [{ a: [1] }, '{"a":[1]}'],
    ] as const) {
      ephd.config = oneValue(fakeValue('key', value));
      expect((await ask(['explain'])).out).toContain(`  key  ${shown.padEnd('VALUE'.length)}  eph.yaml:12\n`);
    }
  });

  it('never shows what ephd calls a secret, nor what it hides', async () => {
    ephd.config = oneValue(
      fakeValue('env.TOKEN', 'hunter22', {
        secret: true,
        reference: 'secrets/db/token',
        below: [{ value: 'hunter23', origin: fakeOrigin() }],
      }),
    );
    const { out } = await ask(['explain', '--all']);
    expect(out).toContain('secrets/db/token → ••••••');
    expect(out).toContain('over •••••• from eph.yaml:12');
    expect(out).not.toContain('hunter');
  });

  it('says when the target of a reference is not known yet', async () => {
    for (const value of [null, 'outputs/api/url']) {
      ephd.config = oneValue(fakeValue('env.API_URL', value, { reference: 'outputs/api/url' }));
      expect((await ask(['explain'])).out).toContain('outputs/api/url → not known yet');
    }
  });

  it('begins with what is out of the ordinary', async () => {
    ephd.config = fakeConfig({
      configuration: { state: 'last-good', commit: 'f'.repeat(40), fault: 'dev/env.yaml:3:1: replcias: unknown key' },
      notices: [{ path: 'advanced.canary', line: 30, column: 3, message: 'not available yet' }],
      violations: ['web.replicas is 50; dev/env.yaml:4 allows 10'],
      remarks: ['provider staging is not configured here; fallback process is used'],
      components: [],
    });
    expect((await ask(['explain'])).out.split('\n')).toStrictEqual([
      'shop-serene-ocean-4207  eph.yaml at 1a2b3c4d, configuration at ffffffff',
      'The newest configuration cannot be used, so the last good one stays in force.',
      '  dev/env.yaml:3:1: replcias: unknown key',
      'limit: web.replicas is 50; dev/env.yaml:4 allows 10',
      'note: provider staging is not configured here; fallback process is used',
      'note: eph.yaml:30:3: advanced.canary: not available yet',
      '',
      'It has no components.',
      '',
    ]);
    for (const [state, sentence] of [
      ['missing', 'nothing new is started'],
      ['unreadable', 'what runs stays as it is'],
    ] as const) {
      ephd.config = fakeConfig({ commit: null, configuration: { state, commit: null, fault: null } });
      const { out } = await ask(['explain']);
      expect(out).toContain(sentence);
      expect(out).toContain('  its source is gone\n');
    }
  });

  it('needs to be told which environment only where there are several', async () => {
    const other = fakeEnvironment({ id: 'fedcba9876543210', name: 'shop-quiet-river-1188', alias: null });
    ephd.environments = [fakeEnvironment(), other];
    const { code, err } = await ask(['explain']);
    expect(code).toBe(exitCodes.notFound);
    expect(err).toBe(
      'eph: There are several environments; choose one with --environment <name>:\n' +
        '  shop-serene-ocean-4207 (branch preview/login)\n  shop-quiet-river-1188 (branch preview/login)\n',
    );
    expect((await ask(['explain', '--environment', 'shop-quiet'])).out).toContain('shop-quiet-river-1188  eph.yaml');
    expect((await ask(['explain', '-e', 'nope'])).code).toBe(exitCodes.notFound);
    ephd.environments = [];
    expect(await ask(['explain'])).toMatchObject({ code: exitCodes.notFound, out: '' });
  });

  it('gives programs the answer of ephd, cut to the path', async () => {
    const whole = configViewSchema.parse(JSON.parse((await ask(['explain', '--json'])).out));
    expect(whole).toMatchObject(ephd.config);
    const part = configViewSchema.parse(JSON.parse((await ask(['explain', 'web.replicas', '--json'])).out));
    expect(part.components.map(({ name, values }) => [name, values.length])).toStrictEqual([['web', 1]]);
    const { out, err } = await ask(['explain', 'nope.nope', '--json']);
    expect(out).toBe('');
    expect(JSON.parse(err)).toEqual({ error: { code: 'cli.no_such_value', message: expect.any(String) } });
  });

  it('shows what strangers wrote as text', async () => {
    const evil = '\x1b]0;owned\x07\x9b2J\u202e\r\n';
    const origin = fakeOrigin({ file: evil, path: evil, commit: evil });
    ephd.config = fakeConfig({
      commit: evil,
      configuration: { state: 'last-good', commit: evil, fault: evil },
      notices: [{ path: evil, line: 1, column: 1, message: evil }],
      violations: [evil],
      components: [
        {
          name: evil,
          kind: evil,
          provider: evil,
          values: [fakeValue(evil, evil, { reference: evil, origin, below: [{ value: evil, origin }] })],
        },
      ],
    });
    for (const args of [['explain'], ['explain', '--all'], ['explain', '--json'], ['explain', evil]]) {
      const { out, err } = await ask(args, { isTTY: true, variables: { NO_COLOR: '1' } });
      expect(`${out}${err}`.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
    }
  });
});

describe('config validate', () => {
  const text = 'version: "1.0"\nnmae: shop\nprocess:\n\tservices: {}\n';
  const faults = [
    { file: 'eph.yaml', line: 2, column: 1, path: 'nmae', message: 'unknown key; did you mean "name"?' },
    { file: 'eph.yaml', line: 4, column: 2, path: '', message: 'a tab cannot indent' },
  ];

  it('is content with a file that is right', async () => {
    await writeFile(join(folder, 'eph.yaml'), text);
    expect(await ask(['validate'])).toStrictEqual({ code: exitCodes.ok, out: 'eph.yaml is valid.\n', err: '' });
    expect(ephd.requests).toStrictEqual(['POST /api/v1/config/validate?file=eph.yaml']);
    expect(ephd.validated.map((bytes) => Buffer.from(bytes).toString())).toStrictEqual([text]);
  });

  it('shows every fault with its line and a caret under the column', async () => {
    await writeFile(join(folder, 'eph.yaml'), text);
    ephd.validation = {
      valid: false,
      faults,
      notices: [{ path: 'advanced', line: 9, column: 1, message: 'not available yet' }],
      violations: ['ttl is 90d; ephd.yaml:7 allows 7d'],
      problems: ['provider staging is not configured here; this server has process'],
      remarks: [],
    };
    const { code, out } = await ask(['validate']);
    expect(code).toBe(exitCodes.invalid);
    expect(out.split('\n')).toStrictEqual([
      'eph.yaml:2:1: nmae: unknown key; did you mean "name"?',
      '  2 | nmae: shop',
      '    | ^',
      'eph.yaml:4:2: a tab cannot indent',
      '  4 |  services: {}',
      '    |  ^',
      'problem: provider staging is not configured here; this server has process',
      'limit: ttl is 90d; ephd.yaml:7 allows 7d',
      'note: eph.yaml:9:1: advanced: not available yet',
      'eph.yaml is not valid: 2 faults, 1 problem, 1 limit exceeded.',
      '',
    ]);
    const json = await ask(['validate', '--json']);
    expect(json.code).toBe(exitCodes.invalid);
    expect(validationSchema.parse(JSON.parse(json.out))).toStrictEqual(ephd.validation);
  });

  it('reads another file, or what comes in through a pipe, with the limits of a project', async () => {
    await mkdir(join(folder, 'other'));
    await writeFile(join(folder, 'other', 'a b.yaml'), text);
    expect((await ask(['validate', 'other/a b.yaml', '--project', 'shop'])).out).toBe('other/a b.yaml is valid.\n');
    expect(ephd.requests.at(-1)).toBe('POST /api/v1/config/validate?file=other%2Fa+b.yaml&project=shop');
    ephd.validation = { valid: false, faults: faults.slice(0, 1), notices: [], violations: [], problems: [], remarks: [] };
    const { out } = await ask(['validate', '-'], { stdin: text });
    expect(out).toContain('standard input:2:1: nmae: ');
    expect(out).toContain('  2 | nmae: shop\n    | ^\n');
  });

  it('proposes eph init where there is no file', async () => {
    expect(await ask(['validate'])).toStrictEqual({
      code: exitCodes.notFound,
      out: '',
      err: 'eph: There is no file eph.yaml here. `eph init` makes one, or name another file.\n',
    });
    const { code, err } = await ask(['validate', '.']);
    expect(code).toBe(exitCodes.failure);
    expect(err).toContain('. cannot be read: ');
    expect(ephd.requests).toStrictEqual([]);
  });

  it('sends no more than ephd reads', async () => {
    expect(largestBytes).toBe(specLimitBytes);
    await writeFile(join(folder, 'eph.yaml'), '#'.repeat(largestBytes));
    expect((await ask(['validate'])).code).toBe(exitCodes.ok);
    await writeFile(join(folder, 'eph.yaml'), '#'.repeat(largestBytes + 1));
    const { code, err } = await ask(['validate']);
    expect(code).toBe(exitCodes.invalid);
    expect(err).toContain('eph.yaml has more than 262144 bytes');
    expect(ephd.requests).toHaveLength(1);
  });

  it('shows what strangers wrote as text', async () => {
    const evil = '\x1b]0;owned\x07\x9b2J\u202e\r';
    ephd.validation = {
      valid: false,
      faults: [{ file: evil, line: 1, column: 3, path: evil, message: evil }],
      notices: [{ path: evil, line: 1, column: 1, message: evil }],
      violations: [evil],
      problems: [evil],
      remarks: [evil],
    };
    for (const args of [
      ['validate', '-'],
      ['validate', evil],
      ['validate', '-', '--json'],
    ]) {
      const { out, err } = await ask(args, { stdin: evil, isTTY: true, variables: { NO_COLOR: '1' } });
      expect(`${out}${err}`.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
    }
  });
});
