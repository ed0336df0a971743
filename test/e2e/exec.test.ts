import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import {
  connectExec,
  type EnvironmentView,
  type ExecConnection,
  eventListSchema,
  newTokenSchema,
  type Transport,
} from '@eph/contract';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { exitCodes } from '../../apps/eph/exit-codes.ts';
import { describeWith } from '../parts/describe-with.ts';
import { tmux } from '../parts/tmux.ts';
import { EphdHarness } from './ephd-harness.ts';
import { eventually } from './eventually.ts';
import { openTerminal } from './open-terminal.ts';
import type { RunningEphd } from './running-ephd.ts';
import { app, twoServices } from './sample-app.ts';
import { readProcessesNaming } from './service-processes.ts';

const main = join(import.meta.dirname, '../../apps/eph/main.ts');
const isRoot = process.getuid?.() === 0;
const person = (name: string): string => `https://id.example.com#${name}`;

let harness: EphdHarness;
let ephd: RunningEphd;
let environment: EnvironmentView;

beforeAll(async () => {
  harness = await EphdHarness.create();
  const config = join(harness.folder, 'ephd.yaml');
  const rules = ['developer', 'viewer'].map((role) => ({ who: { person: person(role) }, role }));
  const projects = [{ name: 'shop', trusted: true, location: harness.repository.path }];
  await writeFile(config, JSON.stringify({ projects, access: { rules } }));
  ephd = await harness.start({ projects: [], args: ['--config', config] });
  environment = await harness.untilReady('preview/one', await harness.repository.push('preview/one', app(twoServices)));
});
afterAll(() => harness[Symbol.asyncDispose]());

const variables = () => ({
  PATH: process.env['PATH'],
  HOME: harness.folder,
  XDG_STATE_HOME: harness.stateFolder,
  EPH_SERVER: `http://127.0.0.1:${harness.apiPort}`,
});

const startEph = (args: readonly string[]) => {
  const child = spawn(process.execPath, [main, 'exec', ...args], { env: variables(), stdio: 'pipe' });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
};

const eph = async (args: readonly string[], input: Uint8Array = Buffer.alloc(0)) => {
  const child = startEph(args);
  child.stdin.on('error', () => undefined).end(input);
  const [[code], out, err] = await Promise.all([once(child, 'close'), buffer(child.stdout), text(child.stderr)]);
  return { code: code as number, out, err };
};

const script = (source: string): string[] => ['--', 'sh', '-c', source];

/** With a token of somebody, as a browser does it. */
const connectAs = async (role: string, command: readonly string[]) => {
  const body = JSON.stringify({ person: person(role), scope: 'write', for: '1h' });
  const answer = await harness.api('/api/v1/tokens', { method: 'POST', body });
  const { id, token } = newTokenSchema.parse(JSON.parse(answer.body));
  const transport: Transport = async ({ path }) => {
    const reply = await harness.anonymousApi(path, { headers: { authorization: `Bearer ${token}` } });
    const contentType = reply.headers['content-type'] ?? '';
    return { status: reply.status, contentType, text: async () => reply.body, chunks: () => [] as never };
  };
  const address = new URL(`http://127.0.0.1:${harness.apiPort}/`);
  const connecting = connectExec({ address, token, transport }, { id: environment.id, command });
  return { id, connecting };
};

const readUntil = async (connection: ExecConnection, expected: string): Promise<ReturnType<ExecConnection['output']>> => {
  const frames = connection.output();
  for (let seen = ''; !seen.includes(expected); ) {
    const { value } = await frames.next();
    if (value?.type !== 'output') throw new Error(`it ended after: ${seen}`);
    seen += Buffer.from(value.bytes).toString();
  }
  return frames;
};

let words = 0;
/** For `sleep`: no other test uses it. */
const uniqueWord = (): string => `${process.pid}${String((words += 1)).padStart(3, '0')}`;

const untilNothingRuns = (word: string): Promise<true> =>
  eventually(`nothing names ${word}`, () => readProcessesNaming(`sleep ${word}`).length === 0);

describe('exec', () => {
  it('is refused for those who may not, before anything runs', async () => {
    const { connecting } = await connectAs('viewer', ['touch', '/tmp/never']);
    await expect(connecting).rejects.toMatchObject({ problem: { status: 403, code: 'api.forbidden' } });
    const nobody = await connectAs('nobody', ['true']);
    await expect(nobody.connecting).rejects.toMatchObject({ problem: { status: 404 } });
  });

  it('answers a request without an upgrade with 400', async () => {
    const path = `/api/v1/environments/${environment.id}/exec`;
    for (const headers of [{}, { connection: 'upgrade', upgrade: 'websocket' }]) {
      const { status, body } = await harness.api(`${path}?command=true`, { headers });
      expect([status, JSON.parse(body)]).toMatchObject([400, { code: 'api.bad_request' }]);
    }
    const { status, body } = await harness.api(path);
    expect([status, body.includes('command')]).toEqual([400, true]);
  });

  it('says which environments and components there are', async () => {
    expect(await eph(['absent', '--', 'true'])).toMatchObject({ code: 3 });
    const { code, err } = await eph(['-c', 'db', environment.name, '--', 'true']);
    expect([code, err]).toEqual([3, expect.stringContaining('it has: ')]);
  });

  it('ignores upgrades elsewhere', async () => {
    const headers = { connection: 'upgrade', upgrade: 'websocket' };
    expect(await harness.api('/api/v1/version', { headers })).toMatchObject({ status: 200 });
    expect(await harness.api('/api/v1/nothing/exec', { headers })).toMatchObject({ status: 404 });
    expect(await harness.anonymousApi('/api/v1/nothing/exec', { headers })).toMatchObject({ status: 401 });
  });
});

describe.runIf(isRoot)('exec without a sandbox', () => {
  it('is refused with the reason', async () => {
    const { code, err } = await eph([environment.name, ...script('echo secret-word')]);
    expect(code).toBe(1);
    expect(err).toMatch(/runs without a sandbox, and exec never runs outside one/);
    const { connecting } = await connectAs('developer', ['true']);
    await expect((await connecting).output().next()).rejects.toMatchObject({ code: 'isolation.missing' });
  });
});

describe.skipIf(isRoot)('exec in the sandbox of a component', () => {
  it('has output, errors and exit code apart', async () => {
    const { code, out, err } = await eph([environment.name, ...script('echo "$EPH_REF"; echo err >&2; exit 42')]);
    expect({ code, out: String(out), err }).toEqual({ code: 42, out: 'preview/one\n', err: 'err\n' });
    expect(await eph([environment.name, '--', 'no-such-program'])).toMatchObject({ code: 127 });
  });

  it('runs beside the component that is asked for, else the one that answers requests', async () => {
    const beside = async (args: readonly string[]) => String((await eph([...args, ...script('echo "${API:-none}"')])).out);
    expect(await beside([environment.name])).toMatch(/^http:/);
    expect(await beside(['--component', 'api', environment.name])).toBe('none\n');
  });

  it('carries bytes unchanged', async () => {
    const bytes = randomBytes(1_000_000);
    const { code, out } = await eph([environment.name, '--', 'cat'], bytes);
    expect([code, out.equals(bytes)]).toEqual([0, true]);
    expect(String((await eph([environment.name], Buffer.from('echo from a file; exit 7'))).out)).toBe('from a file\n');
  });

  it('is in the audit history, without arguments', async () => {
    await eph([environment.name, '--', 'echo', 'secret-word']);
    const { events } = await harness.read('/api/v1/audit', eventListSchema);
    expect(events.at(-1)).toMatchObject({
      details: { permission: 'environments.exec', outcome: 'done', component: 'web', program: 'echo' },
    });
    expect(JSON.stringify(events)).not.toContain('secret-word');
  });

  it('waits for a reader, and ends with the client', async () => {
    const word = uniqueWord();
    const flood = `trap "" TERM HUP INT PIPE; (setsid sleep ${word} &); while :; do yes; done`;
    const child = startEph([environment.name, ...script(flood)]);
    await once(child.stdout, 'readable');
    expect(readProcessesNaming(`sleep ${word}`)).not.toEqual([]);
    expect((await eph([environment.name, '--', 'true'])).code).toBe(0);
    child.kill('SIGKILL');
    await untilNothingRuns(word);
    expect((await harness.environment(environment.id)).phase).toBe('Ready');
  });

  it('ends a command that forks and closes its ends', { timeout: 60_000 }, async () => {
    const word = uniqueWord();
    const forks = `trap "" TERM; for i in 1 2 3 4 5 6 7 8; do (setsid sh -c "sleep ${word} & sleep ${word}" &); done`;
    const { code } = await eph([environment.name, ...script(`${forks}; exec <&- >&- 2>&-; exit 9`)]);
    expect(code).toBe(9);
    await untilNothingRuns(word);
  });

  it('ends when the token is revoked', async () => {
    const word = uniqueWord();
    const command = ['sh', '-c', `trap "" TERM HUP; echo ready; while :; do sleep ${word}; done`];
    const { id, connecting } = await connectAs('developer', command);
    const frames = await readUntil(await connecting, 'ready');
    expect((await harness.api(`/api/v1/tokens/${id}`, { method: 'DELETE' })).status).toBe(200);
    await expect(frames.next()).rejects.toMatchObject({ code: 'api.unauthorized', message: expect.stringContaining('revoked') });
    await untilNothingRuns(word);
  });
});

describeWith(tmux, 'exec on a terminal', () => {
  it.skipIf(isRoot)(
    'is a shell, with its size and its keys, and leaves the terminal as it was',
    { timeout: 120_000 },
    async () => {
      using terminal = openTerminal(harness.folder, variables(), 'PS1="outside> " sh');
      const command = `${process.execPath} ${main} exec ${environment.name} -- sh -c 'PS1="inside> " exec sh'`;
      await expect.poll(terminal.screen).toMatch(/outside>/);
      terminal.type(`stty -g > ~/before; ${command}\n`);
      await expect.poll(terminal.screen).toMatch(/^inside>$/m);
      terminal.type('stty size; echo "$TERM"\n');
      await expect.poll(terminal.screen).toMatch(/^20 90\ntmux|^20 90\nscreen/m);
      terminal.resize(101, 31);
      // The size arrives by itself, and after what is typed at once.
      const askSize = (): string => {
        terminal.type('stty size\n');
        return terminal.screen();
      };
      await expect.poll(askSize, { interval: 500 }).toMatch(/^31 101$/m);
      terminal.type('sleep 1000\n');
      await expect.poll(terminal.screen).toMatch(/^inside> sleep 1000$/m);
      terminal.press('C-c');
      // Keys that follow at once are lost with the line, as on every terminal.
      await expect.poll(terminal.screen).toMatch(/\^C\ninside>$/m);
      terminal.type('echo interrupted: $?\n');
      await expect.poll(terminal.screen).toMatch(/^interrupted: 130$/m);
      terminal.type('exit 5\n');
      await expect.poll(terminal.screen).toMatch(/^outside>$/m);
      terminal.type('echo code: $?; stty -g | cmp - ~/before && echo as it was\n');
      await expect.poll(terminal.screen).toMatch(/^code: 5\nas it was$/m);
    },
  );

  it.skipIf(isRoot)('gives the command none with --no-tty', { timeout: 120_000 }, async () => {
    using terminal = openTerminal(harness.folder, variables(), 'PS1="outside> " sh');
    const command = (option: string) =>
      `${process.execPath} ${main} exec ${option} ${environment.name} -- sh -c 'test -t 1 && echo has one || echo has none'`;
    await expect.poll(terminal.screen).toMatch(/outside>/);
    terminal.type(`clear; ${command('')}\n`);
    await expect.poll(terminal.screen).toMatch(/^has one\noutside>$/m);
    terminal.type(`clear; ${command('--no-tty')}\n`);
    await expect.poll(terminal.screen).toMatch(/^has none$/m);
  });
});

describe.skipIf(isRoot)('exec while ephd stops', () => {
  it('ends with the reason', async () => {
    const word = uniqueWord();
    const child = startEph([environment.name, ...script(`trap "" TERM HUP; echo ready; while :; do sleep ${word}; done`)]);
    await once(child.stdout, 'data');
    const [[code], err] = await Promise.all([once(child, 'close'), text(child.stderr), ephd.stop()]);
    expect([code, err]).toEqual([exitCodes.unreachable, 'eph: ephd is stopping. Ask again soon.\n']);
    await untilNothingRuns(word);
  });
});
