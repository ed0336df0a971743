import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { describeWith } from '../parts/describe-with.ts';
import { copySample, type Sample, samples } from '../parts/samples.ts';
import { EphdHarness } from './ephd-harness.ts';
import { eventually } from './eventually.ts';

const execute = promisify(execFile);
const eph = join(import.meta.dirname, '../../apps/eph/main.ts');
const branch = 'preview/try-eph';
/** Go compiles its own library first, for the package cache of the project is empty. */
const seconds = 300;

/** As a developer would: `eph init --yes`, commit, push. Returns the commit, and what `eph init` says of it. */
const proposeAndPush = async ({ repository, folder: home }: EphdHarness, folder: string) => {
  const { stdout } = await execute(process.execPath, [eph, 'init', '--yes', '--json'], { cwd: folder });
  const author = ['-c', 'user.name=Eph', '-c', 'user.email=eph@localhost'];
  const git = async (...args: readonly string[]): Promise<string> => {
    const env = { PATH: process.env['PATH'], HOME: home, GIT_CONFIG_NOSYSTEM: '1' };
    return (await execute('git', [...author, ...args], { cwd: folder, env })).stdout.trim();
  };
  await git('init', '--quiet');
  await git('add', '--all');
  await git('commit', '--quiet', '--message', 'Add eph.yaml');
  await git('push', '--quiet', repository.path, `HEAD:refs/heads/${branch}`);
  return { commit: await git('rev-parse', 'HEAD'), ...(JSON.parse(stdout) as { missing: readonly string[] }) };
};

const itAnswers = (sample: Sample): void =>
  it(
    'answers after `eph init --yes`, commit and push, and leaves nothing',
    async () => {
      await using harness = await EphdHarness.create();
      // Nothing of what the developer has set could make up for a missing step.
      await harness.start({ env: { HOME: harness.folder } });
      const folder = join(harness.folder, 'working-copy');
      await copySample(sample, folder);
      const { commit, missing } = await proposeAndPush(harness, folder);
      expect(missing).toEqual([]);

      const { name, components } = await harness.untilReady(branch, commit, seconds);
      expect(components.map((one) => one.name).toSorted()).toEqual(sample.services.toSorted());
      expect(components.filter((one) => one.entry).map((one) => one.name)).toEqual(sample.services.slice(0, 1));
      for (const [path, text] of Object.entries(sample.pages)) {
        const answer = await eventually(`${path} answers`, async () => {
          const { status, body } = await harness.visit(name, { path });
          return status === 200 && body;
        });
        expect(answer).toContain(text);
      }

      await harness.repository.delete(branch);
      await harness.untilGone(branch);
      expect(harness.services()).toEqual([]);
    },
    2 * seconds * 1000,
  );

describe.each(samples.filter(({ needs }) => needs === undefined))('the sample $name', (sample) => {
  itAnswers(sample);
});

const others = samples.flatMap((sample) => (sample.needs === undefined ? [] : [{ sample, needs: sample.needs }]));
for (const { sample, needs } of others) describeWith(needs, `the sample ${sample.name}`, () => itAnswers(sample));
