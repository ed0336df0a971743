import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeSandbox, readSources, repository, runScript } from './sandbox.ts';

const rules: Readonly<Record<string, string>> = {
  'packages/contract/node-global.ts': 'eslint(no-restricted-globals)',
  'packages/engine/loop/own-dice.ts': 'eslint(no-restricted-properties)',
  'packages/engine/loop/own-timer.ts': 'eslint(no-restricted-globals)',
  'packages/engine/loop/own-watch.ts': 'eslint(no-restricted-properties)',
  'packages/kube/own-timer.ts': 'eslint(no-restricted-globals)',
  'packages/providers/process/CamelCase.ts': 'unicorn(filename-case)',
  'packages/providers/process/asserts-nothing.test.ts': 'vitest(expect-expect)',
  'packages/providers/process/barrel.ts': 'oxc(no-barrel-file)',
  'packages/providers/process/console.ts': 'eslint(no-console)',
  'packages/providers/process/cycle-a.ts': 'import(no-cycle)',
  'packages/providers/process/cycle-b.ts': 'import(no-cycle)',
  'packages/providers/process/default-export.ts': 'import(no-default-export)',
  'packages/providers/process/environment-variable.ts': 'node(no-process-env)',
  'packages/providers/process/explicit-any.ts': 'typescript(no-explicit-any)',
  'packages/providers/process/floating-promise.ts': 'typescript(no-floating-promises)',
  'packages/providers/process/focused.test.ts': 'vitest(no-focused-tests)',
  'packages/providers/process/late-module-mock.test.ts': 'vitest(no-restricted-vi-methods)',
  'packages/providers/process/missing-case.ts': 'typescript(switch-exhaustiveness-check)',
  'packages/providers/process/misused-promise.ts': 'typescript(no-misused-promises)',
  'packages/providers/process/module-mock.test.ts': 'vitest(no-restricted-vi-methods)',
  'packages/providers/process/needless-suppression.ts': 'unused directive',
  'packages/providers/process/non-null.ts': 'typescript(no-non-null-assertion)',
  'packages/providers/process/process-exit.ts': 'unicorn(no-process-exit)',
  'packages/providers/process/shell.ts': 'eslint(no-restricted-imports)',
  'packages/providers/process/skipped.test.ts': 'vitest(no-disabled-tests)',
  'packages/providers/process/swallowed-error.ts': 'eslint(no-empty)',
  'packages/providers/process/thrown-text.ts': 'typescript(only-throw-error)',
  'packages/providers/process/todo.ts': 'eslint(no-warning-comments)',
  'packages/providers/process/unchecked-json.ts': 'typescript(no-unsafe-assignment)',
  'packages/providers/process/value-import-of-type.ts': 'typescript(consistent-type-imports)',
};

describe('the lint gate', () => {
  it('fails on every planted violation with its rule, and reports nothing else', async () => {
    await using sandbox = await makeSandbox(['lint/clean', 'lint/violation']);
    const { exitCode, stdout } = await sandbox.run('lint', '--format json');
    expect(exitCode).not.toBe(0);
    const { diagnostics } = JSON.parse(stdout) as { diagnostics: { filename: string; code?: string }[] };
    const reported = diagnostics.map(({ filename, code }) => `${filename}: ${code ?? 'unused directive'}`);
    expect(reported.toSorted()).toEqual(Object.entries(rules).map((entry) => entry.join(': ')));
  });

  it('passes without planted violations', async () => {
    await using sandbox = await makeSandbox(['lint/clean']);
    expect(await sandbox.run('lint')).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('on 6 files') });
  });

  it('reads every source file of the repository', async () => {
    const sources = await readSources('.ts');
    const { stdout } = await runScript('lint', repository, ['--debug=files']);
    const linted = stdout.split('\n').map((path) => join(path));
    expect(linted).toEqual(expect.arrayContaining([...sources]));
    expect(linted.filter((path) => /node_modules|planted/.test(path))).toEqual([]);
  });
});
