import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EphdHarness } from './ephd-harness.ts';
import { app } from './sample-app.ts';

describe('the configuration of ephd', () => {
  it('is rejected with all faults at once', async () => {
    await using harness = await EphdHarness.create();
    const config = join(harness.folder, 'ephd.yaml');
    await writeFile(
      config,
      'workers: none\ngateway: { port: 99999, colour: red }\nprojects: [{ name: "Not A Label", location: "" }]\n',
    );
    const { code, stderr } = await harness.launch({ args: ['--config', config], env: { EPH_LOG_LEVEL: 'loud' } }).exited;
    expect(code).toBe(1);
    for (const fault of [
      'ephd.yaml:1:1: workers: must be a whole number from 1 to 256',
      'ephd.yaml:2:12: gateway.port: must be a whole number from 0 to 65535',
      'ephd.yaml:2:25: gateway.colour: unknown key; allowed here: port, domain',
      'ephd.yaml:3:14: projects.0.name: ',
      'ephd.yaml:3:35: projects.0.location: must not be empty',
      'EPH_LOG_LEVEL "loud": must be one of debug, info, warn, error, silent',
    ])
      expect(stderr).toContain(fault);
    expect(stderr).not.toContain('    at ');
  });

  it('needs a project', async () => {
    await using harness = await EphdHarness.create();
    const { code, stderr } = await harness.launch({ projects: [] }).exited;
    expect(code).toBe(1);
    expect(stderr).toContain('--project');
  });

  it('comes from a file; variables and flags override it', async () => {
    await using harness = await EphdHarness.create();
    const config = join(harness.folder, 'ephd.yaml');
    await writeFile(
      config,
      'log_level: silent\ngateway: { port: 1 }\nprojects: [{ name: store, trusted: true, location: shop.git }]\n',
    );
    await harness.launch({ projects: [], args: ['--config', config], env: { EPH_LOG_LEVEL: 'info' } }).up();
    const commit = await harness.repository.push('preview/one', app());
    expect(await harness.untilReady('preview/one', commit)).toMatchObject({ project: 'store' });
  });

  it('is explained by --help', async () => {
    await using harness = await EphdHarness.create();
    const ephd = harness.launch({ args: ['--help'] });
    expect(await ephd.exited).toMatchObject({ code: 0, stderr: '' });
    expect(ephd.lines.map((line) => line.msg).join('\n')).toContain('--gateway-port');
  });
});
