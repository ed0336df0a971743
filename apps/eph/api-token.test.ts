import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { openConnection } from './connection/connection.ts';
import { type FakeEphd, fakeEnvironment, startFakeEphd } from './ephd.fake.ts';
import { exitCodes } from './exit-codes.ts';
import { eph } from './terminal.fake.ts';

const token = 'k'.repeat(43);
let ephd: FakeEphd;
let state: string;
let file: string;

beforeEach(async () => {
  ephd = await startFakeEphd();
  ephd.environments = [fakeEnvironment()];
  state = await mkdtemp(join(tmpdir(), 'eph-state-'));
  await mkdir(join(state, 'eph'));
  file = join(state, 'eph', `token-${new URL(ephd.address).port}`);
});
afterEach(async () => {
  await ephd.close();
  await rm(state, { recursive: true, force: true });
});

const list = (server = ephd.address) => eph(['list', '--server', server], { variables: { XDG_STATE_HOME: state } });

describe('the token of ephd', () => {
  beforeEach(() => {
    ephd.token = token;
  });

  it('is sent with every request, and read again for each', async () => {
    await writeFile(file, `${token}\n`);
    expect((await list()).code).toBe(exitCodes.ok);
    ephd.token = 'l'.repeat(43);
    await writeFile(file, `${ephd.token}\n`);
    expect((await list()).code).toBe(exitCodes.ok);
    const logs = await eph(['logs', 'shop', '--server', ephd.address], { variables: { XDG_STATE_HOME: state } });
    expect(logs.code).toBe(exitCodes.ok);
  });

  it('is found by people who write localhost, and nobody on ::1 gets it', async () => {
    await writeFile(file, token);
    const seen: unknown[] = [];
    const port = Number(new URL(ephd.address).port);
    const thief = createServer((request, response) => {
      seen.push(request.headers);
      response.end();
    });
    // Machines without IPv6 have no thief.
    await new Promise<void>((resolve) => thief.once('error', () => resolve()).listen(port, '::1', resolve));
    onTestFinished(() => void thief.close());
    expect((await list(`http://localhost:${port}`)).code).toBe(exitCodes.ok);
    expect(seen).toEqual([]);
  });

  it('does not follow a redirect', async () => {
    await writeFile(file, token);
    const seen: unknown[] = [];
    const other = createServer((request, response) => {
      seen.push(request.headers);
      response.end();
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void other.close());
    const location = `http://127.0.0.1:${(other.address() as AddressInfo).port}/`;
    for (const status of [301, 302, 307, 308]) {
      ephd.instead = (_request, response) => response.writeHead(status, { location }).end();
      const { code, err } = await list();
      expect([code, err]).toEqual([exitCodes.unreachable, expect.stringContaining(`not ephd (status ${status})`)]);
    }
    expect(seen).toEqual([]);
  });

  it.each<[string, () => Promise<unknown>, string]>([
    ['is not there', async () => undefined, 'does not exist. Was it started by another user'],
    ['is of another start', () => writeFile(file, 'x'.repeat(43)), 'does not accept the token in'],
    ['is a link', () => symlink('/dev/zero', file), 'cannot be read'],
    ['is a folder', () => mkdir(file), 'cannot be read'],
    ['is empty', () => writeFile(file, ''), 'does not contain one'],
    ['has several lines', () => writeFile(file, `${token}\n${token}`), 'does not contain one'],
  ])('gets a sentence when the file %s', async (_, prepare, sentence) => {
    await prepare();
    const { code, out, err } = await list();
    expect({ code, out }).toEqual({ code: exitCodes.signIn, out: '' });
    expect(err).toContain(`eph: ephd at ${ephd.address} does not accept `);
    expect(err).toContain(sentence);
    expect(err).toContain(file);
  });

  it('gets a sentence when there is no home', async () => {
    expect((await eph(['list', '--server', ephd.address])).err).toContain('neither HOME nor XDG_STATE_HOME');
  });
});

describe('a server that gets the token', () => {
  const send = async (server: string): Promise<string | undefined> => {
    const url = new URL(server);
    await writeFile(join(state, 'eph', `token-${url.port || (url.protocol === 'https:' ? 443 : 80)}`), token);
    const connection = await openConnection({ server }, { XDG_STATE_HOME: state });
    return (await connection.readToken()).token;
  };

  it.each(['http://127.0.0.1:7070', 'http://localhost:7070', 'http://[::1]:7070', 'http://127.1.2.3:7070', 'http://127.0.0.1'])(
    'may be %s',
    async (server) => {
      expect(await send(server)).toBe(token);
    },
  );

  it.each([
    'http://ephd.example.org:7070',
    'http://10.0.0.1:7070',
    'http://0.0.0.0:7070',
    'http://127.0.0.1.example.org:7070',
    'http://localhost.example.org:7070',
    'http://evil.localhost:7070',
    'http://127.0.0.1@example.org:7070',
    'http://[::ffff:127.0.0.1]:7070',
    'http://[::]:7070',
  ])('is never %s', async (server) => {
    await expect(send(server)).rejects.toMatchObject({
      exitCode: exitCodes.usage,
      message: expect.stringContaining('without TLS to loopback addresses only'),
    });
    expect(await send(server.replace('http:', 'https:'))).toBeUndefined();
  });
});
