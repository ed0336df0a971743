import { describe, expect, it } from 'vitest';
import { makeSandbox, readSources, repository, runScript } from './sandbox.ts';

const gate = ['test/prose/main.ts'];

describe('the prose gate', () => {
  it('fails on every planted violation with its line, and reports nothing else', async () => {
    await using sandbox = await makeSandbox(['prose/clean', 'prose/violation'], gate);
    const { exitCode, stderr } = await sandbox.run('prose');
    expect(exitCode).toBe(1);
    expect(stderr.trim().split('\n')).toEqual([
      'CHANGELOG.md:5: 125 columns; wrap prose at 120',
      'docs/wide.md:3: 121 columns; wrap prose at 120',
      'docs/wide.md:5: 134 columns; wrap prose at 120',
      'docs/wide.md:7: 134 columns; wrap prose at 120',
      'docs/wide.md:13: 134 columns; wrap prose at 120',
      'docs/wide.md:15: 170 columns; wrap prose at 120',
      'docs/wide.md:17: 152 columns; wrap prose at 120',
      'docs/wide.md:19: 134 columns; wrap prose at 120',
    ]);
  });

  it('passes where nothing is planted', async () => {
    await using sandbox = await makeSandbox(['prose/clean'], gate);
    expect(await sandbox.run('prose')).toEqual({ exitCode: 0, stdout: '', stderr: '' });
  });

  it('reads every Markdown file of the repository and no plant', async () => {
    const { stdout } = await runScript('prose', repository, ['--list']);
    expect(stdout.trim().split('\n')).toEqual(await readSources('.md'));
  });
});
