import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Environment, partsCache } from './find-program.ts';
import type { Finding, Program } from './part.ts';
import { putInPlace } from './put-in-place.ts';
import { python } from './python.ts';
import { runWithProgress } from './run-with-progress.ts';

/** It and all packages that it needs, at one version each, with the hashes that downloads must match. */
const requirements = join(import.meta.dirname, 'schemathesis-requirements.txt');

/** The scripts of a virtual environment name the folder that it was made in, so the module is run, not its script. */
export const schemathesisArguments: readonly string[] = ['-m', 'schemathesis.cli'];

export const schemathesis: Program = {
  name: 'schemathesis',
  purpose: 'generator of requests, what checks the API against its description',
  find: () => find(cacheFolder(process.env)),
  async get(progress, signal) {
    if (!python.find().found) await python.get(progress, signal);
    const interpreter = python.find();
    if (!interpreter.found) throw new Error(`schemathesis needs Python: ${interpreter.reason}`);
    const target = cacheFolder(process.env);
    await mkdir(dirname(target), { recursive: true });
    const folder = await mkdtemp(join(dirname(target), 'building-'));
    const run = async (command: string, ...args: string[]): Promise<void> => {
      const env = { ...process.env, PIP_DISABLE_PIP_VERSION_CHECK: '1' };
      if ((await runWithProgress(command, args, { folder, env }, progress, signal)) !== 0)
        throw new Error(`${command} ${args.join(' ')} failed; its last lines are above`);
    };
    try {
      const built = join(folder, 'built');
      await run(interpreter.where, '-m', 'venv', built);
      // Building a package would run its code, with whatever compiler is here.
      const pinned = ['--require-hashes', '--only-binary=:all:', '--requirement', requirements];
      await run(pythonIn(built), '-m', 'pip', 'install', '--quiet', ...pinned);
      const finding = find(built);
      if (!finding.found) throw new Error(finding.reason);
      // One whose Python was uninstalled does not run.
      if (!find(target).found) await rm(target, { recursive: true, force: true });
      await putInPlace(built, target);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

const find = (folder: string): Finding => {
  const where = pythonIn(folder);
  if (!existsSync(where)) return { found: false, reason: `no ${where}` };
  const { status, stdout } = spawnSync(where, [...schemathesisArguments, '--version'], { encoding: 'utf8', timeout: 30_000 });
  if (status !== 0) return { found: false, reason: `${where} does not run schemathesis` };
  return { found: true, where, version: stdout.trim().replace(/^.*, /, '') };
};

/** Depends on the requirements, so that a change of them installs anew. */
const cacheFolder = (env: Environment): string => {
  const recipe = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 8);
  return join(partsCache(env), 'python', `schemathesis-${recipe}`);
};

const pythonIn = (folder: string): string => join(folder, 'bin', 'python');
