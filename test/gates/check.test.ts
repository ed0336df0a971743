import { readdir } from 'node:fs/promises';
import { relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { planted, readScripts, readSources, repository, runCommand } from './sandbox.ts';

describe('npm run check', () => {
  it('runs every gate that has a planted violation, and no other gate', async () => {
    const { check = '' } = await readScripts();
    const gates = check.split(' && ').map((step) => step.replace(/^npm run /, ''));
    expect(gates.toSorted()).toEqual((await readdir(planted)).toSorted());
  });
});

describe('npm test', () => {
  it('runs the check first', async () => {
    expect((await readScripts())['test']).toMatch(/^npm run check && /);
  });

  it('finds every test file of the repository and no planted one', async () => {
    const { stdout } = await runCommand('vitest', ['list', '--filesOnly', '--json'], repository);
    const found = (JSON.parse(stdout) as { file: string }[]).map(({ file }) => relative(repository, file));
    expect(found.toSorted()).toEqual(await readSources('.test.ts'));
  });
});
