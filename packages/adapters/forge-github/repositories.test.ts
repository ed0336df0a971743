import { silentLog } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { GithubEmulator } from '../../../test/parts/github/github-emulator.ts';
import type { GithubAuth } from './github-identity.ts';
import { createGithubServer } from './github-server.ts';

const { signal } = new AbortController();

const readAs = (github: GithubEmulator, auth: GithubAuth, owner: string) => {
  const options = { baseUrl: github.url, now: Date.now, random: Math.random, log: silentLog };
  return createGithubServer({ ...options, auth }).readRepositories(owner, signal);
};

const startFilled = async () => {
  const github = await GithubEmulator.start();
  github.populate({ owner: 'acme', repositories: 120, pullRequestsEach: 0 });
  github.createRepository('acme/old', { private: true }).archive();
  github.createRepository('other/shop');
  return github;
};

describe('the repositories of an organisation of GitHub', () => {
  it('are all that a person can see, over all pages', async () => {
    await using github = await startFilled();
    const reading = await readAs(github, { token: github.createToken() }, 'Acme');
    expect(reading).toMatchObject({ complete: true, faults: [] });
    expect(reading.items).toHaveLength(121);
    expect(reading.items).toContainEqual({ path: 'acme/service-0120', archived: false });
    expect(reading.items).toContainEqual({ path: 'acme/old', archived: true });
  });

  it('are those that an App is installed on', async () => {
    await using github = await startFilled();
    const app = github.createApp();
    app.install('acme');
    const { id } = app.install('other');
    const { privateKey } = app;
    const reading = await readAs(github, { appId: app.id, privateKey }, 'acme');
    expect(reading).toMatchObject({ complete: true, faults: [] });
    expect(reading.items).toHaveLength(121);
    expect(await readAs(github, { appId: app.id, privateKey, installationId: id }, 'other')).toMatchObject({
      complete: true,
      items: [{ path: 'other/shop' }],
    });
    // The installation of another owner shows nothing of this one.
    expect(await readAs(github, { appId: app.id, privateKey, installationId: id }, 'acme')).toMatchObject({
      complete: false,
      items: [],
    });
  });

  it.each(['reset', 'empty-page'] as const)('are not all known after a page that fails by %s', async (kind) => {
    await using github = await startFilled();
    github.failures.add({ failure: { kind }, match: { path: /\/orgs\/acme\/repos.*[?&]page=2/ } });
    const reading = await readAs(github, { token: github.createToken() }, 'acme');
    expect(reading).toMatchObject({ complete: false, faults: [{}] });
  });

  it('are not known where there is no such owner, no installation, or nothing to see', async () => {
    await using github = await startFilled();
    github.createOrganization('empty');
    const app = github.createApp();
    const asApp = { appId: app.id, privateKey: app.privateKey };
    const token = github.createToken();
    expect(await readAs(github, { token }, 'nobody')).toMatchObject({ complete: false, faults: [{ code: 'forge.refused' }] });
    expect(await readAs(github, asApp, 'acme')).toMatchObject({ complete: false, faults: [{ code: 'forge.refused' }] });
    expect(await readAs(github, { token }, 'empty')).toMatchObject({
      complete: false,
      faults: [{ message: expect.stringContaining('lists no repositories') }],
    });
  });
});

describe('the repositories of a user of GitHub', () => {
  it('are the public ones and those that Eph was let into', async () => {
    await using github = await GithubEmulator.start();
    github.createUser('ada');
    github.createUser('eph');
    github.createRepository('ada/notes', { by: 'ada' });
    github.createRepository('ada/shop', { by: 'ada', private: true }).grant('eph', 'write');
    github.createRepository('ada/diary', { by: 'ada', private: true });
    github.createRepository('eph/own', { by: 'eph' });
    const reading = await readAs(github, { token: github.createToken({ by: 'eph' }) }, 'ada');
    expect(reading.complete).toBe(true);
    expect(reading.items.map(({ path }) => path).toSorted()).toEqual(['ada/notes', 'ada/shop']);
  });

  it('are those that an App is installed on', async () => {
    await using github = await GithubEmulator.start();
    github.createUser('ada');
    github.createRepository('ada/shop', { by: 'ada', private: true });
    const app = github.createApp();
    app.install('ada');
    expect(await readAs(github, { appId: app.id, privateKey: app.privateKey }, 'ada')).toEqual({
      complete: true,
      faults: [],
      items: [{ path: 'ada/shop', archived: false }],
    });
  });
});
