import { relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeSandbox, readSources, repository, runScript } from './sandbox.ts';

/** Each file with the code of its error. */
const reportedIn = (output: string): readonly string[] =>
  [...output.matchAll(/^(\S+)\(\d+,\d+\): error (TS\d+)/gm)].map(([, path, code]) => `${path}: ${code}`).toSorted();

describe('the types gate', () => {
  it('fails on every planted violation with its code, and reports nothing else', async () => {
    await using sandbox = await makeSandbox(['types/clean', 'types/violation']);
    const { exitCode, stdout } = await sandbox.run('types', '--pretty false');
    expect(exitCode).not.toBe(0);
    expect(reportedIn(stdout)).toEqual([
      'apps/eph/parameter-property.ts: TS1294',
      'packages/contract/enum.ts: TS1294',
      'packages/contract/unchecked-index.ts: TS2322',
      'packages/contract/undefined-option.ts: TS2375',
      'packages/contract/wrong-type.ts: TS2322',
      'test/e2e/implicit-any.ts: TS7006',
    ]);
  });

  it('fails on a route without a permission or a handler, on a handler that does not fit its route, and on a filter that it has not', async () => {
    const isProduct = (path: string): boolean =>
      /^packages\/(contract|engine)\//.test(path) && !/\.(test|fake|contract)\.ts$/.test(path);
    const real = (await readSources('.ts', '/package.json')).filter(isProduct);
    const ofApi = ['apps/ephd/api/handlers.ts', 'apps/ephd/access/sessions.ts'];
    await using sandbox = await makeSandbox(['types/routes'], [...real, ...ofApi]);
    const { stdout } = await sandbox.run('types', '--pretty false');
    expect(reportedIn(stdout), stdout).toEqual([
      'apps/ephd/planted/nobody-known.ts: TS18048',
      'apps/ephd/planted/unknown-filter.ts: TS2322',
      'apps/ephd/planted/unknown-permission.ts: TS2322',
      'apps/ephd/planted/without-handler.ts: TS2741',
      'apps/ephd/planted/without-permission.ts: TS2741',
      'apps/ephd/planted/wrong-answer.ts: TS2322',
    ]);
  });

  it('passes without planted violations', async () => {
    await using sandbox = await makeSandbox(['types/clean']);
    expect(await sandbox.run('types')).toEqual({ exitCode: 0, stdout: '', stderr: '' });
  });

  it('reads every source file of the repository', async () => {
    const sources = await readSources('.ts');
    const { stdout } = await runScript('types', repository, ['--listFilesOnly']);
    const read = stdout.split('\n').map((path) => relative(repository, path));
    expect(read).toEqual(expect.arrayContaining([...sources]));
    expect(read.filter((path) => path.includes('planted'))).toEqual([]);
  });
});
