import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { sessionCodeSchema } from '@eph/contract';
import { expect, it } from 'vitest';
import { chromium } from '../parts/chromium.ts';
import { describeWith } from '../parts/describe-with.ts';
import { EphdHarness } from './ephd-harness.ts';
import { app } from './sample-app.ts';

const execute = promisify(execFile);

describeWith(chromium, 'the link of eph dashboard', () => {
  it('shows the environments to whoever opens it first, and to them again until ephd stops', { timeout: 120_000 }, async () => {
    await using harness = await EphdHarness.create();
    const ephd = await harness.start();
    const { name } = await harness.untilReady('preview/one', await harness.repository.push('preview/one', app()));
    const finding = chromium.find();
    /** What the page looks like after its scripts, in a browser with a profile of its own. */
    const show = async (profile: string, url: string): Promise<string> => {
      const flags = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run'];
      const args = [
        ...flags,
        `--user-data-dir=${join(harness.folder, profile)}`,
        '--virtual-time-budget=3000',
        '--dump-dom',
        url,
      ];
      return (await execute(finding.found ? finding.where : '', args, { env: { ...process.env, HOME: harness.folder } })).stdout;
    };
    const { url } = sessionCodeSchema.parse(JSON.parse((await harness.api('/api/v1/auth/codes', { method: 'POST' })).body));
    const first = await show('first', url);
    expect(first).toContain(`<td><a href="http://${name}.localhost:${harness.gatewayPort}">${name}</a></td><td>Ready</td>`);
    expect(await show('second', url)).toContain('used already');
    const page = `http://127.0.0.1:${harness.apiPort}/`;
    expect(await show('first', page)).toContain(name);
    expect(await show('second', page)).toContain('Run eph dashboard for a link that signs you in.');
    await ephd.stop();
    await harness.start();
    expect(await show('first', page)).not.toContain(name);
  });
});
