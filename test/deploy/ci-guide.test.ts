import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseSpec, printFault } from '@eph/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { GitlabEmulator } from '../parts/gitlab/gitlab-emulator.ts';
import { findFaults } from './github-actions.ts';

const repository = join(import.meta.dirname, '../..');
const guide = await readFile(join(repository, 'docs/guides/ci.md'), 'utf8');

/** The examples of a file, which begin with its name. */
const readExamples = (file: string): readonly string[] =>
  [...guide.matchAll(/^```yaml\n(# (\S+)\n[\s\S]*?)^```$/gm)].filter(([, , name]) => name === file).map(([, text = '']) => text);

const specs = readExamples('eph.yaml');
const workflows = readExamples('.github/workflows/images.yml');
const pipelines = readExamples('.gitlab-ci.yml');

interface Workflow {
  readonly jobs: Readonly<Record<string, { readonly steps: readonly { readonly uses?: string; readonly with?: object }[] }>>;
}

interface Job {
  readonly needs?: readonly string[];
  readonly script: readonly string[];
}

describe('the examples of the guide', () => {
  it('are there', () => {
    expect([specs.length, workflows.length, pipelines.length]).toEqual([3, 2, 2]);
  });

  it.each(specs)('%# is part of an eph.yaml without faults', (text) => {
    const rest = 'version: "1.0"\nname: shop\nprocess: { services: { api: { command: ./api } } }\n';
    const parsed = parseSpec(new TextEncoder().encode(rest + text));
    expect(parsed.ok ? [] : parsed.faults.map(printFault)).toEqual([]);
  });

  it.each(workflows)('%# is a workflow without faults', async (text) => {
    expect(await findFaults('workflow', text)).toEqual([]);
    expect(await findFaults('workflow', text.replace('runs-on', 'runs'))).not.toEqual([]);
  });

  it('give the action only inputs that it has', async () => {
    const { inputs } = parse(await readFile(join(repository, 'deploy/github-action/action.yml'), 'utf8')) as { inputs: object };
    const steps = workflows.flatMap((text) => Object.values((parse(text) as Workflow).jobs).flatMap((job) => job.steps));
    const given = steps.filter(({ uses }) => uses?.startsWith('./') === true).flatMap((step) => Object.keys(step.with ?? {}));
    expect(given).not.toEqual([]);
    expect(Object.keys(inputs)).toEqual(expect.arrayContaining(given));
  });
});

describe('the job for GitLab', () => {
  const project = 'acme/shop';
  const jobs = parse(pipelines.join('\n')) as Readonly<Record<string, Job>>;
  const { script = [], needs = [] } = jobs['image-note'] ?? {};

  const start = async () => {
    const gitlab = await GitlabEmulator.start();
    const folder = await mkdtemp(join(tmpdir(), 'eph-ci-guide-'));
    onTestFinished(async () => {
      await gitlab[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    });
    const alice = gitlab.person('alice');
    await alice.createProject(project);
    const source = await readFile(join(repository, 'deploy/github-action/write-image-note.sh'), 'utf8');
    const commit = await alice.push(project, 'topic', { 'ci/write-image-note.sh': source });
    const token = gitlab.projectToken(project, 'developer', { scopes: ['write_repository'] });
    const address = new URL(`${gitlab.url}/${project}.git`);
    const run = async (cwd: string, variables: object, program: string, ...args: readonly string[]): Promise<string> => {
      const env = { PATH: process.env.PATH, HOME: folder, GIT_CONFIG_NOSYSTEM: '1', GIT_TERMINAL_PROMPT: '0', ...variables };
      const { stdout, stderr } = await promisify(execFile)(program, args, { cwd, env });
      return stdout + stderr;
    };
    const checkout = join(folder, 'builds');
    address.username = 'gitlab-ci-token';
    address.password = gitlab.personalToken(alice, { scopes: ['read_repository'] });
    await run(folder, {}, 'git', 'clone', '--quiet', '--depth=1', '--branch=topic', address.href, checkout);
    const variables = {
      CI_SERVER_PROTOCOL: 'http',
      CI_SERVER_HOST: address.hostname,
      CI_SERVER_PORT: address.port,
      CI_PROJECT_PATH: project,
      CI_REGISTRY_IMAGE: 'registry.example.com/acme/shop',
      EPH_PUSH_TOKEN: token,
    };
    const runJob = async (more: object) => run(checkout, { ...variables, ...more }, 'sh', '-ec', script.join('\n'));
    const git = async (...args: readonly string[]) => run(checkout, {}, 'git', ...args);
    return { commit, token, runJob, git };
  };

  it('follows the job that builds', () => {
    expect(needs).not.toEqual([]);
    expect(Object.keys(jobs)).toEqual(expect.arrayContaining([...needs]));
  });

  it.each([
    ['a merge request', (commit: string) => ({ CI_COMMIT_SHA: commit })],
    ['a merged result', (commit: string) => ({ CI_COMMIT_SHA: 'f'.repeat(40), CI_MERGE_REQUEST_SOURCE_BRANCH_SHA: commit })],
  ])(
    'writes the note in a pipeline for %s, with a token of a developer that may write to the repository',
    async (_, pipeline) => {
      const { commit, token, runJob, git } = await start();
      const log = await runJob(pipeline(commit));
      expect(log).toContain(`says for commit ${commit}: api=registry.example.com/acme/shop/api:${commit}`);
      expect(log).not.toContain(token);
      expect(await git('config', '--local', '--list')).not.toContain(token);
      await git('fetch', '--quiet', 'origin', 'refs/notes/eph-images:refs/notes/eph-images');
      expect(await git('notes', '--ref=eph-images', 'show', commit)).toBe(
        `eph-images: api=registry.example.com/acme/shop/api:${commit}\n`,
      );
    },
  );
});
