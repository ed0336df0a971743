import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { parseSpec } from '@eph/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { describeWith } from '../parts/describe-with.ts';
import { copySample, type Sample, samples } from '../parts/samples.ts';
import { eventually } from './eventually.ts';
import { reservePort } from './reserved-ports.ts';

const execute = promisify(execFile);
const eph = join(import.meta.dirname, '../../apps/eph/main.ts');
const seconds = 120;

/** Nothing of this repository, and none of the settings of the developer that could make up for a missing step. */
const cleanEnvironment = (home: string): NodeJS.ProcessEnv => ({
  PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter),
  HOME: home,
  // Go compiles its own library once for each cache, which takes longer than all samples together.
  GOCACHE: process.env['GOCACHE'] ?? join(homedir(), '.cache', 'go-build'),
  GOPROXY: 'off',
  GOTOOLCHAIN: 'local',
  PIP_NO_INDEX: '1',
  PIP_DISABLE_PIP_VERSION_CHECK: '1',
  npm_config_offline: 'true',
});

const makeHome = async (): Promise<string> => {
  const home = await mkdtemp(join(tmpdir(), 'eph-sample-'));
  onTestFinished(() => rm(home, { recursive: true, force: true, maxRetries: 5 }));
  return home;
};

const proposeFor = async (folder: string) => {
  const { stdout } = await execute(process.execPath, [eph, 'init', '--yes', '--json'], { cwd: folder });
  const parsed = parseSpec(await readFile(join(folder, 'eph.yaml')));
  if (!parsed.ok || parsed.spec.process === undefined) throw new Error(JSON.stringify(parsed));
  return { ...parsed.spec.process, missing: (JSON.parse(stdout) as { missing: string[] }).missing };
};

type Service = Awaited<ReturnType<typeof proposeFor>>['services'][string];

const startService = ({ command, directory = '' }: Service, folder: string, env: NodeJS.ProcessEnv): { log: () => string } => {
  const [program = '', ...args] = typeof command === 'string' ? ['sh', '-c', command] : command;
  const child = spawn(program, args, { cwd: join(folder, directory), env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (log += text));
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  onTestFinished(async () => {
    // Without a process the number would mean the group of this test.
    if (child.pid === undefined) return;
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // It has ended already.
    }
    await exited;
  });
  return { log: () => log };
};

/** Undefined as long as a service, or one behind it, does not listen. */
const fetchPage = async (url: string): Promise<string | undefined> => {
  const answer = await fetch(url).catch(() => undefined);
  return answer?.status === 200 ? answer.text() : undefined;
};

const itAnswers = (sample: Sample): void =>
  it(
    'is prepared and answers as `eph init` proposes',
    async () => {
      const home = await makeHome();
      const folder = join(home, 'shop');
      await copySample(sample, folder);
      const { prepare, services, missing } = await proposeFor(folder);
      expect(missing).toEqual([]);
      const entry = Object.keys(services).find((name) => services[name]?.entry === true);
      expect([entry, ...Object.keys(services).filter((name) => name !== entry)]).toEqual(sample.services);

      const env = cleanEnvironment(home);
      if (typeof prepare !== 'string') throw new Error(`nothing is prepared: ${JSON.stringify(services)}`);
      await execute('sh', ['-c', prepare], { cwd: folder, env });

      const ports = new Map<string, number>();
      for (const name of Object.keys(services)) ports.set(name, await reservePort());
      const addressOf = (name = ''): string => `http://127.0.0.1:${ports.get(name)}`;
      const logs = Object.entries(services).map(([name, service]) => {
        const own = Object.entries(service.env ?? {}).map(([key, value]) => [key, addressOf(value.split('/')[1])]);
        return startService(service, folder, { ...env, ...Object.fromEntries(own), PORT: String(ports.get(name)) }).log;
      });
      for (const [path, text] of Object.entries(sample.pages)) {
        const url = new URL(path, addressOf(entry)).href;
        const page = await eventually(`an answer of ${url}`, () => fetchPage(url), seconds).catch((error: unknown) => {
          throw new Error(logs.map((log) => log()).join('\n'), { cause: error });
        });
        expect(page).toContain(text);
      }
    },
    2 * seconds * 1000,
  );

describe.each(samples.filter(({ needs }) => needs === undefined))('the sample $name', (sample) => {
  itAnswers(sample);
});

const others = samples.flatMap((sample) => (sample.needs === undefined ? [] : [{ sample, needs: sample.needs }]));
for (const { sample, needs } of others) describeWith(needs, `the sample ${sample.name}`, () => itAnswers(sample));
