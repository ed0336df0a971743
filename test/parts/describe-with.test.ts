import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';

const here = import.meta.dirname;
const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');

/** Two suites that need a part which does not exist, of which `more` says more, and one that needs nothing. */
const suites = (more: string): string => `
  import { describeWith } from ${JSON.stringify(join(here, 'describe-with.ts'))};
  const sundial = {
    ${more} name: 'sundial', purpose: 'tells the time', find: () => ({ found: false, reason: 'no sun on the PATH' }),
    get: () => Promise.resolve(), start: () => Promise.reject(new Error('never started')),
  };
  describeWith(sundial, 'time', () => {
    beforeAll(() => sundial.start());
    it('passes', () => expect(1).toBe(2));
    it('flies', () => expect(1).toBe(2));
  });
  describeWith(sundial, 'shade', () => it('falls', () => expect(1).toBe(2)));
  describeWith({ ...sundial, find: () => ({ found: true, where: '/', version: '1' }) }, 'night', () => it('is dark', () => expect(1).toBe(1)));
`;

/** Vitest itself, on these suites, with our reporter. */
const runSuites = async (env: Readonly<Record<string, string>>, more = ''): Promise<{ code: number; out: string }> => {
  const root = await mkdtemp(join(tmpdir(), 'eph-suites-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  await writeFile(join(root, 'some.test.js'), suites(more));
  const reporters = ['--reporter', 'verbose', '--reporter', join(here, 'skipped-reporter.ts')];
  const child = spawn(process.execPath, [vitest, 'run', '--root', root, '--globals', ...reporters], {
    cwd: join(here, '../..'),
    env: { PATH: process.env['PATH'], HOME: root, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (out += text));
  const [code] = (await once(child, 'close')) as [number];
  return { code, out: stripVTControlCharacters(out) };
};

describe('a suite that needs a missing part', () => {
  it('is skipped with the command that gets it, and counted at the end of the run', async () => {
    const { code, out } = await runSuites({});
    expect(out).toMatch(/↓ .*time \[skipped, needs sundial: npm run parts -- --get sundial\] > passes/);
    expect(out).toMatch(/Tests +1 passed \| 3 skipped/);
    expect(out).toContain('sundial: 2 suites, 3 tests (no sun on the PATH)');
    expect(out).toContain('Get what is missing with: npm run parts -- --get sundial');
    expect(code).toBe(0);
  });

  it('fails the run when parts are required', async () => {
    const { code, out } = await runSuites({ EPH_PARTS: 'require' });
    expect(out).toContain(
      'sundial is missing and EPH_PARTS=require: no sun on the PATH; get it with: npm run parts -- --get sundial',
    );
    expect(out).toMatch(/Tests +2 failed \| 1 passed/);
    expect(out).not.toContain('Skipped because a part');
    expect(code).toBe(1);
  });

  it('is skipped even then if the part is extended', async () => {
    const { code, out } = await runSuites({ EPH_PARTS: 'require' }, "tier: 'extended',");
    expect(out).toContain('sundial: 2 suites, 3 tests (no sun on the PATH)');
    expect(code).toBe(0);
  });

  it('is skipped and counted like every suite of a part when parts are left out', async () => {
    const { code, out } = await runSuites({ EPH_PARTS: 'none' });
    expect(out).toMatch(/↓ .*night \[skipped, EPH_PARTS=none\] > is dark/);
    expect(out).toMatch(/Tests +4 skipped/);
    expect(out).toContain('sundial: 3 suites, 4 tests (left out by EPH_PARTS=none)');
    expect(out).not.toContain('Get what is missing');
    expect(code).toBe(0);
  });

  it('fails the run when EPH_PARTS is misspelt, rather than skip what should be required', async () => {
    const { code, out } = await runSuites({ EPH_PARTS: 'required' });
    expect(out).toContain('EPH_PARTS is "required"');
    expect(code).toBe(1);
  });
});
