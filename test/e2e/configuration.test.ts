import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { app } from './sample-app.ts';
import { Site } from './site.ts';

describe('the configuration of ephd', () => {
  it('is refused with every fault at once', async () => {
    await using site = await Site.create();
    const config = join(site.folder, 'ephd.yaml');
    await writeFile(
      config,
      'workers: none\ngateway: { port: 99999, colour: red }\nprojects: [{ name: "Not A Label", location: "" }]\n',
    );
    const { code, stderr } = await site.launch({ args: ['--config', config], env: { EPH_LOG_LEVEL: 'loud' } }).exited;
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
    await using site = await Site.create();
    const { code, stderr } = await site.launch({ projects: [] }).exited;
    expect(code).toBe(1);
    expect(stderr).toContain('--project');
  });

  it('comes from a file, which variables and flags overrule', async () => {
    await using site = await Site.create();
    const config = join(site.folder, 'ephd.yaml');
    await writeFile(config, 'log_level: silent\ngateway: { port: 1 }\nprojects: [{ name: store, location: shop.git }]\n');
    await site.launch({ projects: [], args: ['--config', config], env: { EPH_LOG_LEVEL: 'info' } }).up();
    const commit = await site.repository.push('preview/one', app());
    expect(await site.untilReady('preview/one', commit)).toMatchObject({ project: 'store' });
  });

  it('is explained by --help', async () => {
    await using site = await Site.create();
    const ephd = site.launch({ args: ['--help'] });
    expect(await ephd.exited).toMatchObject({ code: 0, stderr: '' });
    expect(ephd.lines.map((line) => line.msg).join('\n')).toContain('--gateway-port');
  });
});
