import { existsSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EphdHarness } from './ephd-harness.ts';
import { eventually } from './eventually.ts';
import { app, oneService, run, spec } from './sample-app.ts';
import { SampleRepository } from './sample-repository.ts';

describe('names of branches', () => {
  it('may contain whatever Git allows', async () => {
    await using harness = await EphdHarness.create();
    await harness.start();
    const canary = join(harness.folder, 'canary');
    const branches = [
      `preview/$(touch\${IFS}${canary.replaceAll('/', '')})`,
      'preview/`reboot`;halt&&true|false>x',
      `preview/it's-"quoted"`,
      'preview/-rf',
      'preview/größe-日本-🚀',
      'preview/%2e%2e%2f<script>',
      `preview/${'n'.repeat(247)}`,
      'preview/a/deep/er/name.with.dots',
    ];
    const commits = new Map<string, string>();
    for (const branch of branches) commits.set(branch, await harness.repository.push(branch, app()));
    for (const [branch, commit] of commits) {
      const { name, alias } = await harness.untilReady(branch, commit);
      expect(name).toMatch(/^[a-z0-9-]{1,63}$/);
      expect(alias).toMatch(/^[a-z0-9-]{1,63}$/);
      expect(JSON.parse((await harness.visit(name)).body), branch).toMatchObject({ ref: branch, commit });
    }
    await harness.repository.delete(...branches.slice(0, 4));
    for (const branch of branches.slice(0, 4)) await harness.untilGone(branch);
    expect((await harness.environments()).map((one) => one.source.name).toSorted()).toEqual(branches.slice(4).toSorted());
  });

  it('that Git does not allow are reported and affect no other branch', async () => {
    await using harness = await EphdHarness.create();
    await harness.start();
    const commit = await harness.repository.push('preview/good', app());
    await harness.untilReady('preview/good', commit);
    await writeFile(join(harness.repository.path, 'refs/heads/preview/a..b'), `${commit}\n`);
    await eventually('health names the ref', async () => (await harness.api('/api/v1/server')).body.includes('a..b'));
    expect(await harness.untilReady('preview/good', commit)).toMatchObject({ phase: 'Ready' });
    expect(harness.services()).toHaveLength(1);
  });

  it('that map to the same alias: the first keeps it, the other gets it afterwards', async () => {
    await using harness = await EphdHarness.create();
    await harness.start();
    const first = await harness.repository.push('preview/a.b', app());
    const older = await harness.untilReady('preview/a.b', first);
    const second = await harness.repository.push('preview/a+b', app());
    const newer = await harness.untilReady('preview/a+b', second);
    expect([older.alias, newer.alias]).toEqual(['shop-preview-a-b', null]);
    const redirect = await harness.visit('shop-preview-a-b', { path: '/x?y' });
    expect(redirect).toMatchObject({
      status: 307,
      headers: { location: `http://${older.name}.localhost:${harness.gatewayPort}/x?y` },
    });
    await harness.repository.delete('preview/a.b');
    await harness.untilGone('preview/a.b');
    expect((await harness.visit('shop-preview-a-b')).headers.location).toContain(newer.name);
  });

  it('that map to the same name: each gets a unique one', async () => {
    await using harness = await EphdHarness.create();
    await harness.start();
    const named = { 'eph.yaml': spec(oneService, { environment: { name_template: '{project}-{ref_name}' } }) };
    const [first, second] = [
      await harness.repository.push('preview/a.b', app(oneService, named)),
      await harness.repository.push('preview/a+b', app(oneService, named)),
    ];
    const [one, two] = await Promise.all([harness.untilReady('preview/a.b', first), harness.untilReady('preview/a+b', second)]);
    expect(new Set([one.name, two.name]).size).toBe(2);
    for (const [{ name }, commit] of [
      [one, first],
      [two, second],
    ] as const)
      expect(JSON.parse((await harness.visit(name)).body)).toMatchObject({ commit });
  });
});

describe('a hostile repository', () => {
  it('gets neither the alias of another environment, nor a name of another project', async () => {
    await using harness = await EphdHarness.create();
    const bank = await SampleRepository.create(harness.folder, 'shop-bank');
    await harness.start({ projects: [harness.repository.path, bank.path] });
    const named = (template: string) => ({
      'eph.yaml': spec(oneService, { name: 'shop-bank', environment: { name_template: template } }),
    });
    const login = await harness.repository.push('preview/login', app());
    const victim = await harness.untilReady('preview/login', login);
    const thieves = [
      await harness.repository.push('preview/alias', app(oneService, named('shop-preview-login'))),
      await harness.repository.push('preview/project', app(oneService, named('{project}-login'))),
    ];
    const [alias, project] = [
      await harness.untilReady('preview/alias', thieves[0] ?? ''),
      await harness.untilReady('preview/project', thieves[1] ?? ''),
    ];
    expect(alias.name).toMatch(/^shop-preview-login-\d{4}$/);
    expect(project.name).toMatch(/^shop-[0-9a-f]{8}-bank-login$/);
    expect(await harness.visit('shop-preview-login')).toMatchObject({
      status: 307,
      headers: { location: `http://${victim.name}.localhost:${harness.gatewayPort}/` },
    });
    expect((await harness.visit('shop-bank-login')).status).toBe(404);
  });

  it('cannot link to files outside the checkout', async () => {
    await using harness = await EphdHarness.create();
    await harness.start();
    const good = await harness.repository.push('preview/good', app());
    const inside = { web: { command: run('answer.mjs'), directory: 'sub' } };
    await harness.repository.push('preview/absolute', app(oneService, { out: { link: '/etc' } }));
    await harness.repository.push('preview/relative', app(oneService, { out: { link: '../../..' } }));
    await harness.repository.push('preview/directory', app(inside, { sub: { link: '..' } }));
    await harness.repository.push('preview/up', app({ web: { command: run('answer.mjs'), directory: '../..' } }));
    for (const branch of ['absolute', 'relative', 'directory', 'up']) {
      const { summary, conditions } = await harness.until(`preview/${branch}`, 'failed', (one) => one.phase === 'Failed');
      expect(summary, branch).toMatch(/leaves/);
      expect(
        conditions.find((one) => one.type === 'Stalled'),
        branch,
      ).toMatchObject({ status: 'True' });
    }
    await harness.untilReady('preview/good', good);
    expect(harness.services()).toHaveLength(1);
  });

  it('cannot make ephd run its hooks, filters or configured programs', async () => {
    await using harness = await EphdHarness.create();
    const canary = join(harness.folder, 'canary');
    const script = join(harness.folder, 'evil.sh');
    await writeFile(script, `#!/bin/sh\necho "$0 $*" >> ${canary}\ncat\n`);
    await chmod(script, 0o755);
    const hooks = join(harness.repository.path, 'hooks');
    await mkdir(hooks, { recursive: true });
    for (const hook of [
      'post-checkout',
      'post-update',
      'post-receive',
      'pre-receive',
      'update',
      'reference-transaction',
      'post-index-change',
      'post-commit',
    ])
      await writeFile(join(hooks, hook), `#!/bin/sh\necho ${hook} >> ${canary}\n`, { mode: 0o755 });
    for (const [key, value] of Object.entries({
      'filter.evil.smudge': script,
      'filter.evil.clean': script,
      'filter.evil.process': script,
      'filter.evil.required': 'true',
      'core.fsmonitor': script,
      'core.sshCommand': script,
      'diff.external': script,
      'core.alternateRefsCommand': script,
    }))
      await harness.repository.git(['config', key, value]);
    await harness.start();
    const commit = await harness.repository.push(
      'preview/one',
      app(oneService, { '.gitattributes': '* filter=evil diff=evil\n' }),
    );
    const { name } = await harness.untilReady('preview/one', commit);
    expect((await harness.visit(name)).status).toBe(200);
    // The report is all that ephd writes there.
    await harness.untilReported(commit, 'Ready');
    await harness.repository.delete('preview/one');
    await harness.untilGone('preview/one');
    expect(existsSync(canary)).toBe(false);
  });
});
