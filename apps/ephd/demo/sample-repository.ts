import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export type Files = Readonly<Record<string, string>>;

export interface SampleRepository {
  readonly origin: string;
  readonly workingCopy: string;
  /** Commits these files on a branch and pushes it. Returns the commit. */
  push(branch: string, files: Files, message: string): Promise<string>;
  deleteBranch(branch: string): Promise<void>;
}

export const createSampleRepository = async (folder: string, name: string, files: Files): Promise<SampleRepository> => {
  const origin = join(folder, `${name}.git`);
  const workingCopy = join(folder, name);
  const git = async (...args: string[]): Promise<string> => {
    const { stdout } = await run('git', args, { cwd: workingCopy, env: isolated });
    return stdout.trim();
  };
  const commit = async (changed: Files, message: string): Promise<void> => {
    for (const [path, content] of Object.entries(changed)) {
      mkdirSync(dirname(join(workingCopy, path)), { recursive: true });
      writeFileSync(join(workingCopy, path), content);
    }
    await git('add', '--all');
    await git('commit', '--quiet', '--message', message);
  };
  mkdirSync(workingCopy, { recursive: true });
  await run('git', ['init', '--quiet', '--bare', '--initial-branch=main', origin], { env: isolated });
  await git('init', '--quiet', '--initial-branch=main');
  await git('remote', 'add', 'origin', origin);
  await commit(files, `Begin ${name}`);
  await git('push', '--quiet', 'origin', 'main');
  return {
    origin,
    workingCopy,
    async push(branch, changed, message) {
      await git('checkout', '--quiet', '-B', branch);
      await commit(changed, message);
      await git('push', '--quiet', 'origin', branch);
      return git('rev-parse', 'HEAD');
    },
    async deleteBranch(branch) {
      await git('push', '--quiet', 'origin', '--delete', branch);
      await git('checkout', '--quiet', 'main');
      await git('branch', '--quiet', '-D', branch);
    },
  };
};

/** The demo neither uses nor changes the developer's own Git configuration. */
const isolated = {
  PATH: process.env['PATH'],
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: 'Demo',
  GIT_AUTHOR_EMAIL: 'demo@localhost',
  GIT_COMMITTER_NAME: 'Demo',
  GIT_COMMITTER_EMAIL: 'demo@localhost',
};
