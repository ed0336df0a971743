import { statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EphdHarness } from './ephd-harness.ts';
import { eventually } from './eventually.ts';
import { app, oneService, run, type Services } from './sample-app.ts';

const scripts = {
  /** Exits immediately and leaves an unsupervised server behind. */
  'fork-away.mjs': `
    import { spawn } from 'node:child_process';
    spawn(process.execPath, ['answer.mjs'], { detached: true, stdio: 'ignore' }).unref();
  `,
  /** Logs as fast as it can, and answers. */
  'flood.mjs': `
    import { writeSync } from 'node:fs';
    import './answer.mjs';
    const line = 'x'.repeat(1023) + '\\n';
    const flood = () => { for (let i = 0; i < 1000; i += 1) writeSync(1, line); setTimeout(flood, 5); };
    flood();
  `,
  'crash.mjs': `
    console.error('no database here');
    process.exitCode = 3;
  `,
  /** Ignores SIGTERM. */
  'stubborn.mjs': `
    import './answer.mjs';
    process.on('SIGTERM', () => undefined);
  `,
};

const service = (program: string, rest: Readonly<Record<string, unknown>> = {}): Services => ({
  web: { command: [process.execPath, program], ...rest },
});

describe('a service that misbehaves', () => {
  it('by never becoming ready is shown as such, and an update to it leaves the old version serving', async () => {
    await using harness = await EphdHarness.create();
    await harness.start();
    const never = { web: { command: run('idle.mjs'), ready: { http: '/', timeout: '1s' } } };
    await harness.repository.push('preview/never', app(never));
    const { name } = await harness.until('preview/never', 'failed', (one) => one.phase === 'Failed');
    const page = await harness.visit(name, { headers: { accept: 'text/html' } });
    expect(page).toMatchObject({ status: 503, headers: { 'content-type': expect.stringContaining('text/html') } });
    expect(JSON.parse((await harness.visit(name)).body)).toMatchObject({ environment: name, phase: 'Failed' });

    const first = await harness.repository.push('preview/update', app());
    const healthy = await harness.untilReady('preview/update', first);
    await harness.repository.push('preview/update', app(never));
    const { summary } = await harness.until('preview/update', 'degraded', (one) => one.phase === 'Degraded');
    expect(summary).toMatch(/does not get ready.*keeps serving/);
    expect(JSON.parse((await harness.visit(healthy.name)).body)).toMatchObject({ commit: first });
  });

  it('by exiting immediately is restarted, and its last log lines are shown', async () => {
    await using harness = await EphdHarness.create();
    await harness.start();
    await harness.repository.push('preview/crash', app(service('crash.mjs'), scripts));
    const { summary } = await harness.until(
      'preview/crash',
      'failed',
      (one) => one.phase === 'Failed' && one.summary.includes('no database here'),
    );
    expect(summary).toContain('exited with code 3');
    const mended = await harness.repository.push('preview/crash', app());
    await harness.untilReady('preview/crash', mended);
  });

  it('by daemonizing is reported, and the processes it left behind are killed', async () => {
    await using harness = await EphdHarness.create();
    await harness.start();
    await harness.repository.push('preview/fork', app(service('fork-away.mjs'), scripts));
    await harness.until('preview/fork', 'failed', (one) => one.phase === 'Failed' && one.summary.includes('foreground'));
    await harness.repository.delete('preview/fork');
    await harness.untilGone('preview/fork');
    expect(harness.services()).toEqual([]);
  });

  it('by flooding its log neither fills the disk nor slows ephd down', async () => {
    await using harness = await EphdHarness.create();
    await harness.start();
    const [loud, quiet] = [
      await harness.repository.push('preview/loud', app(service('flood.mjs'), scripts)),
      await harness.repository.push('preview/quiet', app(oneService)),
    ];
    const { id, name } = await harness.untilReady('preview/loud', loud);
    await harness.untilReady('preview/quiet', quiet);
    await eventually('the log was turned over', async () => (await logFiles(harness, id)).length === 2);
    expect((await harness.visit(name)).status).toBe(200);
    const sizes = (await logFiles(harness, id)).map((file) => statSync(file, { throwIfNoEntry: false })?.size ?? 0);
    expect(Math.max(...sizes)).toBeLessThan(100 * 1024 * 1024);
    const { body } = await harness.api(`/api/v1/environments/${id}/logs?tail=3`);
    expect(body.match(/^data: /gm)).toHaveLength(3);
  });

  it('by ignoring SIGTERM is killed', async () => {
    await using harness = await EphdHarness.create();
    await harness.start();
    const commit = await harness.repository.push('preview/stubborn', app(service('stubborn.mjs'), scripts));
    await harness.untilReady('preview/stubborn', commit);
    await harness.repository.delete('preview/stubborn');
    await harness.untilGone('preview/stubborn');
    expect(harness.services()).toEqual([]);
  });

  it('by being killed is restarted', async () => {
    await using harness = await EphdHarness.create();
    await harness.start();
    const commit = await harness.repository.push('preview/one', app());
    const { name } = await harness.untilReady('preview/one', commit);
    const [before] = harness.services();
    process.kill(before?.pid ?? Number.NaN, 'SIGKILL');
    await eventually('another process answers', async () => {
      const { status, body } = await harness.visit(name);
      return status === 200 && (JSON.parse(body) as { pid: number }).pid !== before?.pid;
    });
    expect(harness.services()).toHaveLength(1);
  });
});

const logFiles = async (harness: EphdHarness, id: string): Promise<readonly string[]> => {
  const folder = join(harness.dataFolder, 'process', id, 'components', 'web');
  const files = await readdir(folder, { recursive: true });
  return files.filter((file) => /\/log(\.1)?$/.test(file)).map((file) => join(folder, file));
};
