import { requestAnswerSchema } from '@eph/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeEphd, fakeEnvironment, fakeRequestAnswer, sendError, startFakeEphd } from './ephd.fake.ts';
import { exitCodes } from './exit-codes.ts';
import { eph, type Result, type SessionOptions } from './terminal.fake.ts';

let ephd: FakeEphd;
beforeEach(async () => {
  ephd = await startFakeEphd();
  ephd.environments = [fakeEnvironment()];
});
afterEach(async () => ephd.close());

const ask = (args: readonly string[], options: SessionOptions = {}): Promise<Result> =>
  eph([...args, '--server', ephd.address], options);

const commit = 'c'.repeat(40);

describe('up', () => {
  it.each([
    ['42', 'pr', '42'],
    ['#42', 'pr', '42'],
    ['!42', 'pr', '42'],
    ['pr:42', 'pr', '42'],
    ['feature/login', 'branch', 'feature/login'],
    ['branch:42', 'branch', '42'],
    ['42-things', 'branch', '42-things'],
    ['-', 'branch', '-'],
  ])('takes %s for a %s', async (text, kind, name) => {
    expect(await ask(['up', text])).toMatchObject({ code: exitCodes.ok, err: '' });
    expect(ephd.environmentRequests).toStrictEqual([{ source: { kind, name } }]);
    expect(ephd.requests).toStrictEqual(['POST /api/v1/environments']);
  });

  it('says what was changed in Git, and how to go on', async () => {
    ephd.requestAnswer = fakeRequestAnswer({ changes: [{ type: 'label_added', label: 'preview' }] });
    expect((await ask(['up', '42', '--project', 'shop'])).out.split('\n')).toStrictEqual([
      'Added label preview to pull request 42.',
      'pull request 42 has the label preview (trigger pr_label).',
      'Follow it with `eph status --watch 0123456789abcdef`.',
      '',
    ]);
    expect(ephd.environmentRequests).toStrictEqual([{ project: 'shop', source: { kind: 'pr', name: '42' } }]);
    const branch = 'preview/login';
    ephd.requestAnswer = fakeRequestAnswer({
      source: { kind: 'branch', name: branch },
      changes: [{ type: 'branch_made', branch, commit }],
    });
    expect((await ask(['up', 'login'])).out).toContain(`Created branch ${branch} at ${commit}.\n`);
    ephd.requestAnswer = fakeRequestAnswer();
    expect((await ask(['up', '42'])).out).toContain('Git needs no change.\n');
  });

  it.each([[['up', '']], [['up', 'tag:v1']], [['up', 'https://git.example.com/acme/shop/pulls/42']], [['up', '1', '2']]])(
    'refuses %j with code 2, without asking anybody',
    async (args) => {
      expect(await ask(args)).toMatchObject({ code: exitCodes.usage, out: '' });
      expect(ephd.requests).toStrictEqual([]);
    },
  );

  it('passes on why it is refused', async () => {
    ephd.instead = (_request, response) => sendError(response, 409, 'api.conflict', 'no label would help');
    expect(await ask(['up', '42'])).toStrictEqual({ code: exitCodes.failure, out: '', err: 'eph: no label would help\n' });
    const { err } = await ask(['up', '42', '--json']);
    expect(JSON.parse(err)).toEqual({ error: { code: 'api.conflict', message: expect.any(String) } });
  });
});

describe('down', () => {
  it('withdraws the request for the environment', async () => {
    ephd.requestAnswer = fakeRequestAnswer({
      source: { kind: 'branch', name: 'preview/login' },
      changes: [{ type: 'branch_deleted', branch: 'preview/login', commit }],
      because: 'branch preview/login is gone',
    });
    expect(await ask(['down', 'preview/login'])).toStrictEqual({
      code: exitCodes.ok,
      out: `Deleted branch preview/login, which was at ${commit}.\nbranch preview/login is gone.\n`,
      err: '',
    });
    expect(ephd.requests.at(-1)).toBe('DELETE /api/v1/environments/0123456789abcdef');
    ephd.requestAnswer = fakeRequestAnswer({ changes: [{ type: 'label_removed', label: 'preview' }] });
    expect((await ask(['down', 'shop'])).out).toContain('Removed label preview from pull request 42.\n');
  });

  it('uses force only with --force', async () => {
    await ask(['down', 'shop', '--force']);
    expect(ephd.requests.at(-1)).toBe('DELETE /api/v1/environments/0123456789abcdef?force=true');
  });

  it('does nothing when several environments match', async () => {
    const other = { id: 'fedcba9876543210', name: 'shop-quiet-river-1188', alias: null };
    ephd.environments = [fakeEnvironment(), fakeEnvironment(other)];
    for (const name of ['shop', 'nothing', '..', ''])
      expect(await ask(['down', name])).toMatchObject({ code: exitCodes.notFound, out: '' });
    expect(ephd.requests.filter((request) => request.startsWith('DELETE'))).toStrictEqual([]);
  });
});

describe('both', () => {
  it('print the answer of the contract for programs', async () => {
    for (const args of [
      ['up', '42'],
      ['down', 'shop'],
    ]) {
      const { out } = await ask([...args, '--json'], { isTTY: true });
      expect(requestAnswerSchema.parse(JSON.parse(out))).toStrictEqual(ephd.requestAnswer);
    }
  });

  it('show untrusted names as text', async () => {
    const evil = '\x1b]0;owned\x07\x9b2J\u202e\r\n';
    ephd.requestAnswer = fakeRequestAnswer({
      source: { kind: 'branch', name: evil },
      changes: [
        { type: 'label_added', label: evil },
        { type: 'branch_deleted', branch: evil, commit: evil },
      ],
      because: evil,
    });
    for (const args of [
      ['up', '42'],
      ['down', 'shop'],
      ['up', '42', '--json'],
      ['down', 'shop', '--json'],
    ]) {
      const { out, err } = await ask(args, { isTTY: true, variables: { NO_COLOR: '1' } });
      expect(`${out}${err}`.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
    }
  });
});
