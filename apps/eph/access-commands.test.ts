import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeEphd, sendError, startFakeEphd } from './ephd.fake.ts';
import { fakeAuditEvent } from './ephd-access.fake.ts';
import { exitCodes } from './exit-codes.ts';
import { eph, type SessionOptions } from './terminal.fake.ts';

const person = 'https://id.example.com#4711';
const id = 'AAAAAAAAAAAAAAAAAAAAAA';
let ephd: FakeEphd;
beforeEach(async () => {
  ephd = await startFakeEphd();
});
afterEach(() => ephd.close());

const ask = (args: readonly string[], options: SessionOptions = {}) => eph([...args, '--server', ephd.address], options);

describe('tokens', () => {
  it('are printed alone, and described beside', async () => {
    const { code, out, err } = await ask(['tokens', 'create', '--person', person, '--projects', 'shop', 'shop-*', '--for', '7d']);
    expect({ code, out }).toEqual({ code: exitCodes.ok, out: 'eph_a.b.c\n' });
    expect(err).toContain(`Token ${id} is for ${person}, with scope read, until 2026-12-15T09:00:00Z.`);
    expect(err).not.toContain('eph_a');
    expect(ephd.access.bodies).toEqual([{ person, scope: 'read', projects: ['shop', 'shop-*'], for: '7d' }]);
    const quiet = await ask(['tokens', 'create', '--person', person, '--scope', 'write', '-q']);
    expect([quiet.out, quiet.err]).toEqual(['eph_a.b.c\n', '']);
    expect(ephd.access.bodies.at(-1)).toEqual({ person, scope: 'write', for: '30d' });
    expect(JSON.parse((await ask(['tokens', 'create', '--person', person, '--json'])).out)).toMatchObject({
      id,
      token: 'eph_a.b.c',
    });
  });

  it('are listed without themselves', async () => {
    const { out } = await ask(['tokens', 'list']);
    expect(out).toMatch(new RegExp(`^${id}  ${person}  read +shop +2026-11-15T09:00:00Z  2026-12-15T09:00:00Z  valid$`, 'm'));
    ephd.access.tokens = { tokens: [], next: null };
    expect((await ask(['tokens', 'list'])).out).toBe('History remembers no tokens.\n');
  });

  it('are revoked by id or by person', async () => {
    expect((await ask(['tokens', 'revoke', id])).out).toBe('Revoked.\n');
    expect(ephd.requests.at(-1)).toBe(`DELETE /api/v1/tokens/${id}`);
    ephd.access.revocation = { missing: 'PostgreSQL does not answer' };
    expect((await ask(['tokens', 'revoke', '--person', person])).out).toContain('until they do: PostgreSQL does not answer');
    expect(ephd.requests.at(-1)).toBe(`DELETE /api/v1/tokens?person=${encodeURIComponent(person)}`);
    const count = ephd.requests.length;
    for (const args of [[], [id, '--person', person]])
      expect((await ask(['tokens', 'revoke', ...args])).code).toBe(exitCodes.usage);
    expect(ephd.requests).toHaveLength(count);
  });
});

describe('audit', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'eph-audit-'));
    ephd.access.audit = Array.from({ length: 2_500 }, (_, index) => fakeAuditEvent(index + 1));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('shows the newest events, oldest first', async () => {
    const { out } = await ask(['audit', '-n', '2']);
    expect(out.split('\n').slice(1)).toEqual([
      `2026-11-15T09:00:00Z  audit.changed  ${person}  change 2499`,
      `2026-11-15T09:00:00Z  audit.changed  ${person}  change 2500`,
      '',
    ]);
  });

  it('passes filters on', async () => {
    await ask(['audit', '--project', 'shop', '--type', 'refused', 'audit.changed', '--text', 'down', '--since', '10m']);
    expect(ephd.requests.at(-1)).toBe(
      'GET /api/v1/audit?project=shop&type=audit.refused&type=audit.changed&text=down' +
        '&since=2026-11-15T08%3A55%3A00.000Z&limit=50',
    );
    expect(await ask(['audit', '--until', 'soon'])).toMatchObject({ code: exitCodes.usage });
  });

  const idsIn = (text: string): readonly number[] =>
    text
      .trimEnd()
      .split('\n')
      .map((line) => Number(JSON.parse(line).id));

  it('exports everything as lines of JSON, and goes on later', async () => {
    const { code, out, err } = await ask(['audit', '--export']);
    expect(code).toBe(exitCodes.ok);
    expect(idsIn(out)).toEqual(Array.from({ length: 2_500 }, (_, index) => index + 1));
    expect(err).toBe('Wrote 2500 events. Go on after them with --after 0000000000002500.\n');
    const file = join(folder, 'audit.jsonl');
    expect(await ask(['audit', '--export', file, '-q'])).toEqual({ code: exitCodes.ok, out: '', err: '' });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    ephd.access.audit = [...ephd.access.audit, fakeAuditEvent(2_501)];
    expect((await ask(['audit', '--export', file])).err).toContain('already exists. Go on with it by --after');
    expect((await ask(['audit', '--export', file, '--after', '0000000000002500'])).err).toContain('Wrote 1 event.');
    expect(idsIn(await readFile(file, 'utf8'))).toEqual(Array.from({ length: 2_501 }, (_, index) => index + 1));
  });

  it('says where to go on after a failure', async () => {
    ephd.instead = (_request, response) => sendError(response, 429, 'api.too_many', 'too many requests');
    const failed = await ask(['audit', '--export', '--after', '0000000000001000']);
    expect(failed).toMatchObject({ code: exitCodes.failure, out: '' });
    expect(failed.err).toContain('Go on after them with --after 0000000000001000.\neph: too many requests');
  });
});

describe('dashboard', () => {
  it('prints a link, and opens no browser without a terminal', async () => {
    const { code, out, err } = await ask(['dashboard'], { variables: { DISPLAY: ':0' } });
    expect({ code, out }).toEqual({ code: exitCodes.ok, out: 'http://127.0.0.1:7070/#code=c0de\n' });
    expect(err).toBe('The link signs a browser in as you. It can be used once, until 2026-12-15T09:00:00Z.\n');
    expect(JSON.parse((await ask(['dashboard', '--no-browser', '--json'], { isTTY: true })).out)).toMatchObject({
      opened: false,
    });
    expect(ephd.requests).toEqual(['POST /api/v1/auth/codes', 'POST /api/v1/auth/codes']);
  });
});
