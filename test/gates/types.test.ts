import { relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeSandbox, readSources, repository, runScript } from './sandbox.ts';

describe('the types gate', () => {
  it('fails on every planted violation with its code, and reports nothing else', async () => {
    await using sandbox = await makeSandbox(['types/clean', 'types/violation']);
    const { exitCode, stdout } = await sandbox.run('types', '--pretty false');
    expect(exitCode).not.toBe(0);
    const reported = [...stdout.matchAll(/^(\S+)\(\d+,\d+\): error (TS\d+)/gm)].map(([, path, code]) => `${path}: ${code}`);
    expect(reported.toSorted()).toEqual([
      'apps/eph/parameter-property.ts: TS1294',
      'packages/contract/enum.ts: TS1294',
      'packages/contract/unchecked-index.ts: TS2322',
      'packages/contract/undefined-option.ts: TS2375',
      'packages/contract/wrong-type.ts: TS2322',
      'test/e2e/implicit-any.ts: TS7006',
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
