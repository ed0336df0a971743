import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeSandbox, readSources } from './sandbox.ts';

type Finding = { readonly file: string } & Readonly<Record<string, readonly { readonly name: string }[]>>;

const parseFindings = (text: string): readonly string[] => {
  const { issues } = JSON.parse(text) as { issues: readonly Finding[] };
  return issues.flatMap(({ file, ...kinds }) =>
    Object.entries(kinds).flatMap(([kind, names]) => names.map(({ name }) => `${file}: ${kind} ${name}`)),
  );
};

describe('the dead-code gate', () => {
  it('fails on every planted violation with its kind, and reports nothing else', async () => {
    await using sandbox = await makeSandbox(['dead-code/clean', 'dead-code/violation']);
    const { exitCode, stdout } = await sandbox.run('dead-code', '--reporter json');
    expect(exitCode).not.toBe(0);
    expect(parseFindings(stdout).toSorted()).toEqual([
      'apps/ephd/nobody-imports.ts: files apps/ephd/nobody-imports.ts',
      'apps/ephd/package.json: dependencies hono',
      'apps/ephd/undeclared.ts: unlisted zod',
      'packages/engine/plan/dead.fake.ts: exports fakeNobodyCalls',
      'packages/engine/plan/diff.ts: exports nobodyCalls',
      'packages/engine/plan/diff.ts: types NobodyUses',
      'test/e2e/nobody-imports.ts: files test/e2e/nobody-imports.ts',
    ]);
  });

  it('passes without planted violations', async () => {
    await using sandbox = await makeSandbox(['dead-code/clean']);
    expect(await sandbox.run('dead-code')).toMatchObject({ exitCode: 0, stdout: '' });
  });

  it('finds an unused file in any folder of the repository', async () => {
    const sources = (await readSources('.ts')).filter((path) => path.includes('/'));
    await using sandbox = await makeSandbox([], [...sources, ...(await readSources('/package.json'))]);
    const strays = [...new Set(sources.map(dirname))].map((folder) => join(folder, 'stray.ts'));
    for (const path of strays) await writeFile(join(sandbox.folder, path), 'export const stray = true;\n');
    const { stdout } = await sandbox.run('dead-code', '--reporter json');
    const reported = parseFindings(stdout).flatMap((finding) => /^(\S*stray\.ts): /.exec(finding)?.[1] ?? []);
    expect(reported.toSorted()).toEqual(strays.toSorted());
  });
});
