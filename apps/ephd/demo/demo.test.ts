import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';

const main = join(import.meta.dirname, 'main.ts');

/** What it prints when it fails. */
const runDemo = async (kubeconfig: string, ...args: readonly string[]): Promise<string> => {
  const folder = mkdtempSync(join(tmpdir(), 'eph-demo-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'kubeconfig');
  writeFileSync(file, kubeconfig);
  const env = { PATH: process.env['PATH'], HOME: folder, KUBECONFIG: file };
  const failed: unknown = await promisify(execFile)(process.execPath, [main, ...args], { env }).catch((error: unknown) => error);
  return String((failed as { readonly stderr?: string }).stderr);
};

describe('the demo', () => {
  it('touches no cluster that nobody agreed to', async () => {
    const failure = await runDemo('apiVersion: v1\nkind: Config\ncurrent-context: production\n', '--provider', 'kubernetes');
    expect(failure).toMatch(/nobody can be asked whether to use cluster production of .*; add --yes if that is right/);
  });

  it('wants to know which cluster', async () => {
    const failure = await runDemo('apiVersion: v1\nkind: Config\ncurrent-context: ""\n', '--provider', 'kubernetes', '--yes');
    expect(failure).toMatch(/has no current context; choose one with kubectl config use-context/);
  });

  it('knows no other providers', async () => {
    expect(await runDemo('', '--provider', 'nomad')).toContain('--provider nomad is not possible here; use kubernetes');
  });
});
