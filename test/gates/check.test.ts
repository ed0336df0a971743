import { readdir } from 'node:fs/promises';
import { relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeSandbox, planted, readScripts, readSources, repository, runCommand } from './sandbox.ts';

describe('npm run check', () => {
  it('runs every gate that has a planted violation, and no other gate', async () => {
    const { check = '' } = await readScripts();
    const [node, program, ...gates] = check.split(' ');
    expect([node, program]).toEqual(['node', 'test/check/main.ts']);
    expect(gates.toSorted()).toEqual((await readdir(planted)).toSorted());
  });

  it('fails if one gate fails, and reports the others', async () => {
    await using sandbox = await makeSandbox(
      ['prose/clean', 'formatting/violation'],
      ['test/check/main.ts', 'test/prose/main.ts'],
    );
    const { exitCode, stdout } = await runCommand('node', ['test/check/main.ts', 'formatting', 'prose'], sandbox.folder);
    expect(stdout).toMatch(/^FAILED {2}formatting/m);
    expect(stdout).toMatch(/^passed {2}prose/m);
    expect(exitCode).toBe(1);
  });
});

describe('npm test', () => {
  it('runs the check first', async () => {
    expect((await readScripts())['test']).toMatch(/^npm run check && /);
  });

  it('finds every test file of the repository and no planted one, together with npm run test:cluster', async () => {
    const list = async (...options: readonly string[]): Promise<string[]> => {
      const { stdout } = await runCommand('vitest', ['list', '--filesOnly', '--json', ...options], repository);
      return (JSON.parse(stdout) as { file: string }[]).map(({ file }) => relative(repository, file));
    };
    const { 'test:cluster': cluster = '' } = await readScripts();
    const withNode = await list(...cluster.split(' ').slice(2));
    expect(withNode).not.toEqual([]);
    expect([...(await list()), ...withNode].toSorted()).toEqual(await readSources('.test.ts'));
  });
});
