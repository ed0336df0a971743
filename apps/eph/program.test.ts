import type { ServerResponse } from 'node:http';
import { environmentListSchema, environmentSchema, eventListSchema, planSchema, versionSchema, whySchema } from '@eph/contract';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createApiClient } from './client.ts';
import { openConnection } from './connection/connection.ts';
import { type FakeEphd, fakeComponent, fakeEnvironment, sendError, startFakeEphd } from './ephd.fake.ts';
import { exitCodes } from './exit-codes.ts';
import { eph, type Result, type SessionOptions } from './terminal.fake.ts';

let ephd: FakeEphd;
beforeEach(async () => {
  ephd = await startFakeEphd();
  ephd.environments = [fakeEnvironment(), other];
});
afterEach(async () => ephd.close());

const other = fakeEnvironment({
  id: 'fedcba9876543210',
  name: 'shop-quiet-river-1188',
  alias: null,
  source: { kind: 'tag', name: 'v2' },
  phase: 'Failed',
  summary: 'web exits at once',
  createdAt: null,
  url: 'http://shop-quiet-river-1188.localhost:7080',
  components: [],
});

const ask = (args: readonly string[], options: SessionOptions = {}): Promise<Result> =>
  eph([...args, '--server', ephd.address], options);

describe('list', () => {
  it('shows every environment with its address', async () => {
    const { code, out } = await ask(['list']);
    expect(code).toBe(exitCodes.ok);
    expect(out.split('\n')).toStrictEqual([
      'NAME                    PHASE   SOURCE                COMMIT    AGE  ADDRESS',
      'shop-serene-ocean-4207  Ready   branch preview/login  1a2b3c4d   5m  http://shop-serene-ocean-4207.localhost:7080',
      'shop-quiet-river-1188   Failed  tag v2                1a2b3c4d       http://shop-quiet-river-1188.localhost:7080',
      '',
    ]);
    expect((await ask(['ls'])).out).toBe(out);
  });

  it('says how to get an environment when there is none', async () => {
    ephd.environments = [];
    const { code, out } = await ask(['list']);
    expect(code).toBe(exitCodes.ok);
    expect(out).toContain('Push a branch `preview/…`');
  });

  it('is coloured on a terminal and plain elsewhere', async () => {
    expect((await ask(['list'], { isTTY: true })).out).toContain('\x1b[32mReady');
    expect((await ask(['list'], { isTTY: true, variables: { NO_COLOR: '1' } })).out).not.toContain('\x1b');
    expect((await ask(['list'])).out).not.toContain('\x1b');
  });
});

describe('status', () => {
  it('shows everything about one environment', async () => {
    const { code, out } = await ask(['status', 'preview/login']);
    expect(code).toBe(exitCodes.ok);
    expect(out).toContain('shop-serene-ocean-4207  Ready\nthe wanted version answers\n');
    expect(out).toContain('address  http://shop-serene-ocean-4207.localhost:7080\n');
    expect(out).toMatch(/^web +process +ready +5m +1a2b3c4d +2 +1\.3 s +42 MiB$/m);
    expect(out).toMatch(/^db +process +ready +5m +1a2b3c4d$/m);
    expect(out).toMatch(/^Ready +True +5m +Serving +all is well$/m);
  });

  it('shows the version on its way beside the one that answers', async () => {
    const next = {
      revision: 'bbbbbbbbbbbbbbbb',
      commit: 'f'.repeat(40),
      health: 'failing' as const,
      message: 'exits with 1',
      since: '',
    };
    ephd.environments = [fakeEnvironment({ phase: 'Degraded', components: [fakeComponent({ next, retiring: true })] })];
    const { code, out } = await ask(['status', 'shop']);
    expect(code).toBe(exitCodes.notReady);
    expect(out).toMatch(/^web +process +ready .* an older version is on its way out$/m);
    expect(out).toMatch(/^web \(next\) +process +failing +ffffffff +exits with 1$/m);
  });

  it('shows all environments with their components when no name is given', async () => {
    const { code, out } = await ask(['status']);
    expect(code).toBe(exitCodes.ok);
    expect(out).toMatch(/^shop-serene-ocean-4207 +Ready +1a2b3c4d +the wanted version answers$/m);
    expect(out).toMatch(/^ {2}web +ready +1a2b3c4d$/m);
    expect(out).toMatch(/^shop-quiet-river-1188 +Failed .*web exits at once$/m);
  });

  it('ends with a code that tells a script whether to wait', async () => {
    const stalled = fakeEnvironment().conditions.map((one) => ({ ...one, type: 'Stalled' as const }));
    const states: readonly (readonly [Parameters<typeof fakeEnvironment>[0], number])[] = [
      [{ phase: 'Ready' }, exitCodes.ok],
      [{ phase: 'Progressing' }, exitCodes.notReady],
      [{ phase: 'Failed' }, exitCodes.stalled],
      [{ phase: 'Degraded', conditions: stalled }, exitCodes.stalled],
    ];
    for (const [changes, expected] of states) {
      ephd.environments = [fakeEnvironment(changes)];
      expect((await ask(['status', 'shop'])).code).toBe(expected);
      expect((await ask(['status', 'shop', '--json'])).code).toBe(expected);
    }
  });
});

describe('events, why, plan, release and open', () => {
  it('tell what happened, oldest first', async () => {
    const event = { id: '0'.repeat(16), project: 'shop', environment: other.id, details: {} };
    ephd.events = {
      events: [
        { ...event, at: '2026-11-15T09:00:00.123Z', type: 'environment.wanted', message: 'it is wanted' },
        { ...event, at: '2026-11-15T09:00:01.123Z', type: 'status.changed', message: 'it is Ready\nnow' },
      ],
    };
    const { out } = await ask(['events', 'v2', '--limit', '7']);
    expect(out.split('\n').slice(1)).toStrictEqual([
      '2026-11-15T09:00:00Z  environment.wanted  it is wanted',
      '2026-11-15T09:00:01Z  status.changed      it is Ready\\x0anow',
      '',
    ]);
    expect(ephd.requests.at(-1)).toBe(`GET /api/v1/environments/${other.id}/events?limit=7`);
    const all = await ask(['events']);
    expect(all.out.split('\n')[1]).toBe(`2026-11-15T09:00:00Z  ${other.name}  environment.wanted  it is wanted`);
    expect(ephd.requests).toContain('GET /api/v1/events?limit=50');
    ephd.events = { events: [] };
    expect((await ask(['events'])).out).toBe('No events yet.\n');
  });

  it('choose among what happened', async () => {
    const filters = ['--type', 'status.changed', 'environment.wanted', '--text', 'a b'];
    expect((await ask(['events', '--project', 'shop', '--since', '10m', ...filters])).out).toBe('No event matches.\n');
    const query = 'type=status.changed&type=environment.wanted&since=2026-11-15T08%3A55%3A00.000Z&text=a+b&limit=50';
    expect(ephd.requests.at(-1)).toBe(`GET /api/v1/events?${query}&project=shop`);
    await ask(['events', 'v2', '--since', '2026-01-05T09:00:00+01:00']);
    expect(ephd.requests.at(-1)).toBe(`GET /api/v1/environments/${other.id}/events?since=2026-01-05T08%3A00%3A00.000Z&limit=50`);
    for (const since of ['yesterday', '10', '2026'])
      expect(await ask(['events', '--since', since])).toMatchObject({
        code: exitCodes.usage,
        err: expect.stringContaining('10m'),
      });
  });

  it('say why', async () => {
    ephd.why = ['It is wanted because branch preview/login matches preview/*.', 'It is as it should be.'];
    const { out } = await ask(['why', 'shop-serene-ocean-4207']);
    expect(out).toBe(`shop-serene-ocean-4207\n  ${ephd.why[0]}\n  ${ephd.why[1]}\n`);
  });

  it('say what the next pass would do', async () => {
    expect((await ask(['plan'])).out).toBe('Nothing to do: everything is as it should be.\n');
    ephd.plan = {
      plans: [
        {
          environment: other.id,
          name: other.name,
          wanted: true,
          because: 'tag v2 matches v*',
          actions: [
            { type: 'create', component: 'db', provider: 'process', revision: 'cccccccccccccccc', reason: 'it does not exist' },
            { type: 'wait', component: 'web', code: 'reference.waiting', reason: 'outputs/db/url is not known yet' },
          ],
        },
        {
          environment: 'x',
          name: 'shop-calm-lake-1',
          wanted: null,
          because: 'eph.yaml could not be read',
          actions: [{ type: 'wait', code: 'spec.unreadable', reason: 'eph.yaml could not be read' }],
        },
      ],
      faults: [{ code: 'forge.unreachable', message: 'Git does not answer' }],
    };
    const { out } = await ask(['plan']);
    expect(out).toContain('shop-quiet-river-1188  wanted: tag v2 matches v*\n');
    expect(out).toMatch(/^ {2}create +db +process +it does not exist$/m);
    expect(out).toMatch(/^ {2}wait +web +outputs\/db\/url is not known yet$/m);
    expect(out).toContain('shop-calm-lake-1  undecided: eph.yaml could not be read\n');
    expect(out).toContain('The next pass: 1 to create, 2 waiting, in 2 environments.\n');
    expect(out).toContain('  forge.unreachable: Git does not answer\n');
  });

  it('release what is held, and only that', async () => {
    ephd.held.add(other.id);
    expect(await ask(['release', 'v2'])).toMatchObject({
      code: exitCodes.ok,
      out: `Released ${other.name}; it will be removed.\n`,
    });
    expect(ephd.held).toStrictEqual(new Set());
    expect(await ask(['release', 'v2'])).toMatchObject({ code: exitCodes.failure, err: `eph: ${other.name} is not held\n` });
  });

  it('print the address', async () => {
    expect(await ask(['open', 'preview/login', '--no-browser'])).toStrictEqual({
      code: exitCodes.ok,
      out: 'http://shop-serene-ocean-4207.localhost:7080\n',
      err: '',
    });
    expect((await ask(['open', 'v2', '--no-browser'])).err).toBe(`${other.name} is Failed; the page shows what it waits for.\n`);
  });
});

describe('--json', () => {
  it('prints the answer of the contract and nothing else, wherever it stands', async () => {
    ephd.held.add(other.id);
    const id = 'shop-serene-ocean-4207';
    const answers: readonly (readonly [readonly string[], { parse(value: unknown): unknown }])[] = [
      [['list', '--json'], environmentListSchema],
      [['--json', 'list'], environmentListSchema],
      [['status', '--json'], environmentListSchema],
      [['status', id, '--json'], environmentSchema],
      [['events', '--json'], eventListSchema],
      [['why', id, '--json'], whySchema],
      [['plan', '--json'], planSchema],
      [['version', '--json'], versionSchema],
    ];
    for (const [args, schema] of answers) {
      const { out, err } = await ask(args, { isTTY: true });
      expect(err).toBe('');
      expect(out).not.toContain('\x1b');
      expect(schema.parse(JSON.parse(out))).toBeTruthy();
    }
    expect(JSON.parse((await ask(['list', '--json'])).out)).toStrictEqual(environmentListSchema.parse(ephd));
    expect(JSON.parse((await ask(['release', 'v2', '--json'])).out)).toMatchObject({ name: other.name, released: true });
    expect(JSON.parse((await ask(['version', '--json', '--ephd'])).out)).toStrictEqual({ version: '1.2.3', ephd: '9.8.7' });
    expect(JSON.parse((await ask(['open', 'v2', '--no-browser', '--json'])).out)).toMatchObject({
      url: other.url,
      opened: false,
    });
  });

  it('leaves standard output empty when something is wrong, and explains it on the other one', async () => {
    for (const [args, exitCode, errorCode] of [
      [['status', 'nope', '--json'], exitCodes.notFound, 'api.not_found'],
      [['status', 'shop', '--json'], exitCodes.notFound, 'cli.ambiguous'],
      [['statsu', '--json'], exitCodes.usage, 'cli.usage'],
      [['release', 'v2', '--json'], exitCodes.failure, 'api.conflict'],
    ] as const) {
      const { code, out, err } = await ask(args);
      expect(code).toBe(exitCode);
      expect(out).toBe('');
      expect(JSON.parse(err)).toEqual({ error: { code: errorCode, message: expect.any(String) } });
    }
  });
});

describe('a command line that cannot work', () => {
  it.each([
    [['lst'], 'unknown command'],
    [['list', '--wat'], 'unknown option'],
    [['status', 'a', 'b'], 'too many arguments'],
    [['sources'], 'missing required argument'],
    [['completion', 'tcsh'], 'Allowed choices are bash, zsh, fish'],
    [['up', '42', '--wait', '--timeout', 'soon'], 'such as 90s'],
    [['down', 'shop', '--wait', '--timeout', '30d'], 'at most 20d'],
    [['logs', 'a', '--tail', '-3'], 'whole number'],
    [['status', '--watch', '--interval', '0'], 'from 0.1 to 3600'],
    [['config', 'explian'], 'unknown command'],
    [['config', 'explain', 'a', 'b'], 'too many arguments'],
    [['init', 'somewhere'], 'too many arguments'],
  ])('%j is refused with code 2', async (args, message) => {
    const { code, out, err } = await ask(args);
    expect(code).toBe(exitCodes.usage);
    expect(out).toBe('');
    expect(err).toContain(message);
    expect(ephd.requests).toStrictEqual([]);
  });

  it.each(['localhost:7070', 'ftp://x', '', 'http://'])('an ephd at %j is refused with code 2', async (server) => {
    const { code, err } = await eph(['list', '--server', server]);
    expect(code).toBe(exitCodes.usage);
    expect(err).toContain('must look like http://127.0.0.1:7070');
  });

  it('shows the help when nothing is asked, and documents the exit codes in every help', async () => {
    const nothing = await eph([]);
    expect(nothing.code).toBe(exitCodes.usage);
    expect(nothing.err).toContain('Usage: eph');
    for (const args of [
      ['--help'],
      ['help', 'status'],
      ['logs', '--help'],
      ['config', '--help'],
      ['config', 'explain', '--help'],
    ]) {
      const { code, out } = await eph(args);
      expect(code).toBe(exitCodes.ok);
      for (const exitCode of Object.values(exitCodes)) expect(out).toMatch(new RegExp(`^  ${exitCode}  `, 'm'));
    }
  });
});

describe('names of environments', () => {
  it('never turn into another path', async () => {
    for (const name of ['..', '.', '../plan', 'a/../../plan', '%2e%2e', 'x?y', '', ' '])
      expect((await ask(['status', name])).code).toBe(exitCodes.notFound);
    expect(new Set(ephd.requests)).toStrictEqual(new Set(['GET /api/v1/environments?limit=1000']));
  });

  it('that ephd knows need no list', async () => {
    await ask(['status', 'shop-preview-login']);
    expect(ephd.requests).toStrictEqual(['GET /api/v1/environments/shop-preview-login']);
  });

  it('and everything else that is untrusted are only text on a terminal', async () => {
    const evil = '\x1b]0;owned\x07\x9b2J\u202e\r\n';
    ephd.environments = [
      fakeEnvironment({
        summary: evil,
        source: { kind: 'branch', name: `preview/${evil}` },
        url: `javascript:${evil}`,
        components: [fakeComponent({ name: evil, provider: evil })],
        conditions: fakeEnvironment().conditions.map((one) => ({ ...one, message: evil, reason: evil })),
      }),
    ];
    ephd.why = [evil];
    ephd.events = { events: [{ id: evil, at: evil, type: evil, project: null, environment: null, message: evil, details: {} }] };
    ephd.plan = {
      plans: [{ environment: 'x', name: evil, wanted: false, because: evil, actions: [{ type: 'wait', reason: evil }] }],
      faults: [{ code: evil, message: evil }],
    };
    const commands = [
      ['list'],
      ['status'],
      ['status', 'shop'],
      ['events'],
      ['why', 'shop'],
      ['plan'],
      ['open', 'shop'],
      ['why', evil],
    ];
    for (const args of commands.flatMap((one) => [one, [...one, '--json']])) {
      const { out, err } = await ask(args, { isTTY: true, variables: { NO_COLOR: '1', DISPLAY: ':0' } });
      expect(`${out}${err}`.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
    }
  });
});

describe('an ephd that is not there', () => {
  it('gets a sentence that says how to start it', async () => {
    await ephd.close();
    const { code, out, err } = await ask(['list']);
    expect(code).toBe(exitCodes.unreachable);
    expect(out).toBe('');
    expect(err).toContain(`ephd does not answer at ${ephd.address}: nothing listens there.`);
    expect(err).toContain('npm run ephd -- --project <path or URL>');
  });

  it('is looked for where the variable says, and the option wins', async () => {
    expect((await eph(['list'], { variables: { EPH_SERVER: ephd.address } })).code).toBe(exitCodes.ok);
    const both = await eph(['list', '--server', ephd.address], { variables: { EPH_SERVER: 'http://127.0.0.1:1' } });
    expect(both.code).toBe(exitCodes.ok);
  });

  it('does not give its password away', async () => {
    const { err } = await eph(['list', '--server', 'http://ann:hunter22@127.0.0.1:1']);
    expect(err).not.toContain('hunter22');
  });

  it.each<[string, (response: ServerResponse) => void, number, string]>([
    [
      'a page of something else',
      (response) => response.setHeader('content-type', 'text/html').end('<h1>hi</h1>'),
      exitCodes.unreachable,
      'not ephd',
    ],
    [
      'an error of a proxy',
      (response) => response.writeHead(502).end('bad gateway'),
      exitCodes.unreachable,
      'not ephd (status 502)',
    ],
    [
      'half an answer',
      (response) =>
        void response
          .writeHead(200, { 'content-type': 'application/json', 'content-length': 99 })
          .write('{', () => response.destroy()),
      exitCodes.unreachable,
      'did not complete',
    ],
    [
      'an answer of another version',
      (response) => response.setHeader('content-type', 'application/json').end('{"environments":[{}]}'),
      exitCodes.failure,
      'at environments.0.id',
    ],
    ['a closed connection', (response) => response.destroy(), exitCodes.unreachable, 'the connection was closed'],
  ])('or %s is told apart', async (_, instead, exitCode, message) => {
    ephd.instead = (_request, response) => instead(response);
    const { code, out, err } = await ask(['list']);
    expect({ code, out }).toStrictEqual({ code: exitCode, out: '' });
    expect(err).toContain(message);
  });

  it('or one that hangs is not waited for', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const client = createApiClient(await openConnection({ server: ephd.address }, {}));
    /** How it fails, however often it waits for the time to pass. */
    const fail = async (answer: Promise<unknown>): Promise<unknown> => {
      let failure: unknown;
      answer.catch((error: unknown) => {
        failure = error;
      });
      await expect.poll(() => vi.advanceTimersByTime(10_000) && failure, { interval: 10 }).toBeDefined();
      return failure;
    };
    const timeout = {
      exitCode: exitCodes.timedOut,
      message: expect.stringContaining('there was no answer within 10 s'),
    };
    ephd.instead = () => undefined;
    expect(await fail(client.listEnvironments())).toMatchObject(timeout);
    const log = Array.fromAsync(client.readLogs({ path: { id: 'x' }, query: { follow: true } }));
    expect(await fail(log)).toMatchObject(timeout);
    ephd.instead = (_request, response) => void response.writeHead(200, { 'content-type': 'application/json' }).write('{');
    expect(await fail(client.listEnvironments())).toMatchObject(timeout);
  });

  it('is told what to do about a refusal', async () => {
    const problem = { type: 'about:blank', title: '', status: 502, detail: 'the token has no rights', code: 'forge.refused' };
    ephd.instead = (_request, response) =>
      response
        .writeHead(502, { 'content-type': 'application/problem+json' })
        .end(JSON.stringify({ ...problem, hint: 'Check its rights.', requestId: '7' }));
    expect((await ask(['list'])).err).toBe('eph: the token has no rights. Check its rights.\n');
  });

  it('may refuse in words this eph does not know', async () => {
    ephd.instead = (_request, response) => sendError(response, 503, 'api.new', 'another ephd leads');
    expect(await ask(['list'])).toStrictEqual({ code: exitCodes.failure, out: '', err: 'eph: another ephd leads\n' });
  });
});
