import { describe, expect, it } from 'vitest';
import { makeSandbox, readSources, repository, runScript } from './sandbox.ts';

describe('the formatting gate', () => {
  it('fails on every planted violation with its kind, and reports nothing else', async () => {
    await using sandbox = await makeSandbox(['formatting/clean', 'formatting/violation']);
    const { exitCode, stdout } = await sandbox.run('formatting', '--reporter=json');
    expect(exitCode).not.toBe(0);
    const { diagnostics } = JSON.parse(stdout) as { diagnostics: { category: string; location: { path: string } }[] };
    expect(diagnostics.map(({ category, location }) => `${location.path}: ${category}`).toSorted()).toEqual([
      'apps/ephd/list.json: format',
      'apps/ephd/wide.ts: format',
      'packages/contract/a.ts: format',
      'packages/contract/index.ts: assist/source/organizeImports',
    ]);
  });

  it('passes without planted violations', async () => {
    await using sandbox = await makeSandbox(['formatting/clean']);
    expect(await sandbox.run('formatting')).toMatchObject({ exitCode: 0 });
  });

  it('reads every source file of the repository', async () => {
    const sources = (await readSources('.ts', '.cjs', '.json', '.jsonc')).filter((path) => path !== 'package-lock.json');
    const { stdout } = await runScript('formatting', repository, ['--verbose']);
    const read = [...stdout.matchAll(/^ {2}- (\S+)$/gm)].map(([, path]) => path);
    expect(read).toEqual(expect.arrayContaining(sources));
  });
});
