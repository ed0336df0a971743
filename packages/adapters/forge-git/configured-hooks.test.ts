import { execFile, execFileSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { environmentId, projectId } from '@eph/contract';
import { createView } from '@eph/engine/report/view.fake';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createGit } from './git-command.ts';
import { createGitForge } from './git-forge.ts';
import { createGitNotesReporter } from './git-notes.ts';
import { parseLocation } from './location.ts';
import { Origin } from './origin.fake.ts';

const { signal } = new AbortController();
const execute = promisify(execFile);
const realGit = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
const names = ['x', 'with.dots', 'a=b', "it's", 'größe'];
const settingOf = (name: string): string => `hook.${name}.enabled`;

/** A repository whose configuration names hooks for every change of a ref, as Git 2.54 understands it. */
const start = async () => {
  const origin = await Origin.create();
  onTestFinished(() => origin[Symbol.asyncDispose]());
  const canary = join(origin.folder, 'canary');
  const commit = await origin.push({ kind: 'branch', name: 'main' }, { a: 'a' });
  for (const name of names) {
    await origin.git('config', `hook.${name}.command`, `echo ran >> ${canary}`);
    for (const event of ['reference-transaction', 'post-receive', 'update'])
      await origin.git('config', '--add', `hook.${name}.event`, event);
  }
  const ran = () => readFile(canary, 'utf8').catch(() => 'nothing ran');
  const gitFor = (location: string, path = process.env['PATH']) =>
    createGit({
      home: join(origin.folder, 'home'),
      location: parseLocation(location),
      environment: { PATH: path },
      lifetime: signal,
    });
  return { origin, commit, canary, ran, gitFor };
};

describe('hooks in the configuration of a repository', () => {
  it('are disabled by name and by event in every command that changes refs, as Git itself understands it', async () => {
    const { origin, gitFor } = await start();
    const read = async (key: string, changesRefsOf?: string) => {
      const options = changesRefsOf === undefined ? { signal } : { signal, changesRefsOf };
      const args = [`--git-dir=${origin.gitFolder}`, 'config', '--type=bool', '--get', key];
      return (await gitFor(origin.path).run(args, options)).stdout.toString().trim();
    };
    for (const name of names) expect([name, await read(settingOf(name), origin.gitFolder)]).toEqual([name, 'false']);
    for (const event of ['reference-transaction', 'update', 'pre-push']) expect(await read(settingOf(event))).toBe('false');
  });

  it('are disabled in the server that Git starts for a file URL', async () => {
    const { origin, gitFor } = await start();
    const [argument] = await gitFor(pathToFileURL(origin.path).href).serverArgs('receive-pack');
    const command = argument
      ?.replace(/^--receive-pack=/, '')
      .replace(/receive-pack$/, `--git-dir='${origin.gitFolder}' config --get`);
    for (const key of [...names, 'post-receive'].map(settingOf)) {
      const { stdout } = await execute('sh', ['-c', `${command} "$1"`, 'sh', key]);
      expect([key, stdout.trim()]).toEqual([key, 'false']);
    }
  });

  it('do not run when notes and branches are written, with the Git that is here and with one that would run them', async () => {
    const { origin, commit, canary, ran } = await start();
    // Does what Git 2.54 does, as far as it matters here: older ones ignore such a configuration.
    const script = `
for argument; do case "$argument" in update-ref|fast-import) changes=1 ;; --git-dir=*) folder="$argument" ;; esac; done
if [ -n "$changes" ]; then
  for name in x a=b; do
    enabled=$(${realGit} "$folder" config --type=bool --get "hook.$name.enabled" || echo true)
    if [ "$enabled" = true ]; then sh -c "$(${realGit} "$folder" config --get "hook.$name.command")"; fi
  done
fi
exec ${realGit} "$@"`;
    const folder = join(origin.folder, 'bin');
    await mkdir(folder);
    await writeFile(join(folder, 'git'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    await execute(join(folder, 'git'), [`--git-dir=${origin.gitFolder}`, 'update-ref', 'refs/heads/proof', commit]);
    expect(await ran()).toBe('ran\nran\n');
    await writeFile(canary, 'nothing ran');
    for (const path of [process.env['PATH'], `${folder}:${process.env['PATH']}`]) {
      const data = join(origin.folder, `data-${path?.length}`);
      const forge = createGitForge({
        project: projectId('shop'),
        location: origin.path,
        folder: data,
        environment: { PATH: path },
      });
      await using _ = forge;
      const environment = environmentId('0000000000000001');
      const source = { kind: 'branch', name: 'main' } as const;
      const text = `Ready ${path?.length}`;
      const report = { project: forge.project, environment, source, commit, text, view: createView({ commit }), last: false };
      await createGitNotesReporter({ forge }).ensure(report, signal);
      expect(await origin.git('notes', '--ref=eph', 'show', commit)).toContain(text);
      const name = `${forge.refs?.prefix}hooked-${path?.length}`;
      expect(await forge.refs?.ensureBranch(name, commit, signal)).toBe(true);
      expect(await forge.refs?.removeBranch(name, commit, signal)).toBe(true);
    }
    expect(await ran()).toBe('nothing ran');
  });

  it('do not run when notes are pushed to a file URL', async () => {
    const { origin, commit, ran } = await start();
    const location = pathToFileURL(origin.path).href;
    await using forge = createGitForge({ project: projectId('shop'), location, folder: join(origin.folder, 'data') });
    const environment = environmentId('0000000000000001');
    const source = { kind: 'branch', name: 'main' } as const;
    const report = {
      project: forge.project,
      environment,
      source,
      commit,
      text: 'Ready',
      view: createView({ commit }),
      last: false,
    };
    await createGitNotesReporter({ forge }).ensure(report, signal);
    expect(await origin.git('notes', '--ref=eph', 'show', commit)).toContain('Ready');
    expect(await ran()).toBe('nothing ran');
  });

  it('are refused where there are too many of them', async () => {
    const { origin, gitFor } = await start();
    const many = Array.from({ length: 1_001 }, (_, index) => `[hook "h${index}"]\n\tcommand = true\n`).join('');
    await writeFile(join(origin.gitFolder, 'config'), many, { flag: 'a' });
    const options = { signal, changesRefsOf: origin.gitFolder };
    await expect(gitFor(origin.path).run(['--version'], options)).rejects.toMatchObject({
      code: 'forge.refused',
      message: expect.stringContaining('more than 1000 hooks'),
    });
  });
});
