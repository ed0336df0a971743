import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeSandbox, readSources, repository, runScript } from './sandbox.ts';

interface Cruise {
  readonly modules: readonly { readonly source: string; readonly dependencies: readonly unknown[] }[];
  readonly summary: { readonly violations: readonly { readonly from: string; readonly rule: { readonly name: string } }[] };
}

const parseCruise = (text: string): Cruise => JSON.parse(text) as Cruise;

const importsAnything = async (path: string): Promise<boolean> =>
  /^((import|export) .*|\} )from '/m.test(await readFile(join(repository, path), 'utf8'));

describe('the boundaries gate', () => {
  it('fails on every planted violation with its rule, and reports nothing else', async () => {
    await using sandbox = await makeSandbox(['boundaries/clean', 'boundaries/violation'], await readSources('/package.json'));
    expect((await sandbox.run('boundaries')).exitCode).not.toBe(0);
    const { stdout } = await sandbox.run('boundaries', '--output-type json');
    const reported = parseCruise(stdout).summary.violations.map(({ from, rule }) => `${from}: ${rule.name}`);
    expect(reported.toSorted()).toEqual([
      'apps/eph/imports-engine.ts: cli-imports-contract',
      'apps/ephd/demo/main.ts: no-vague-names',
      'apps/ephd/imports-adapter.ts: only-wiring-imports-implementations',
      'apps/ephd/imports-app.ts: apps-stand-alone',
      'apps/ephd/imports-app.ts: import-packages-by-name',
      'apps/ephd/imports-by-path.ts: import-packages-by-name',
      'apps/ephd/imports-nothing.ts: no-unresolved',
      'apps/gateway/imports-engine.ts: gateway-imports-contract',
      'packages/adapters/forge-git/imports-adapter.ts: adapter-imports-seams',
      'packages/adapters/forge-git/imports-stage.ts: adapter-imports-seams',
      'packages/contract/imports-engine.ts: contract-stands-alone',
      'packages/contract/imports-node.ts: contract-is-browser-safe',
      'packages/engine/loop/imports-adapter.ts: engine-imports-contract',
      'packages/engine/loop/imports-adapter.ts: loop-imports-contract-and-itself',
      'packages/engine/loop/imports-stage.ts: loop-imports-contract-and-itself',
      'packages/engine/plan/dead.fake.ts: no-dead-test-code',
      'packages/engine/plan/dead.ts: no-dead-files',
      'packages/engine/plan/imports-adapter.test.ts: engine-imports-contract-in-tests',
      'packages/engine/plan/imports-adapter.test.ts: stage-imports-contract-and-itself-in-tests',
      'packages/engine/plan/imports-stage.ts: stage-imports-contract-and-itself',
      'packages/engine/source/imports-fake.ts: no-test-code-in-production',
      'packages/engine/source/reads-disk.ts: engine-has-no-effects',
      'packages/engine/values/cycle-a.ts: no-cycles',
      'packages/kube/imports-stage.ts: kube-imports-seams',
      'packages/providers/process/imports-adapter.ts: provider-imports-seams',
      'packages/providers/process/imports-app.ts: packages-do-not-import-apps',
      'packages/providers/process/imports-app.ts: provider-imports-seams',
    ]);
  });

  it('passes without planted violations', async () => {
    await using sandbox = await makeSandbox(['boundaries/clean'], await readSources('/package.json'));
    expect(await sandbox.run('boundaries')).toMatchObject({ exitCode: 0, stderr: '' });
  });

  it('reads every source file of the repository and what it imports', async () => {
    const sources = (await readSources('.ts')).filter((path) => /^(packages|apps|test)\//.test(path));
    const { stdout } = await runScript('boundaries', repository, ['--output-type json']);
    const { modules } = parseCruise(stdout);
    const imports = new Map(modules.map(({ source, dependencies }) => [source, dependencies.length]));
    expect([...imports.keys()]).toEqual(expect.arrayContaining([...sources]));
    const importing = await Promise.all(sources.map(async (path) => ((await importsAnything(path)) ? [path] : [])));
    expect(importing.flat().filter((path) => imports.get(path) === 0)).toEqual([]);
  });

  it('knows the entry points of programs, without which it could not find dead files', async () => {
    const programs = ['apps/ephd/main.ts', 'apps/ephd/demo/main.ts', 'apps/eph/main.ts'];
    expect(await readSources('/main.ts')).toEqual(expect.arrayContaining(programs));
  });
});
