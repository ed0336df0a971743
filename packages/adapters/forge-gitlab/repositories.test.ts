import { silentLog } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { GitlabEmulator } from '../../../test/parts/gitlab/gitlab-emulator.ts';
import { createGitlabServer } from './gitlab-server.ts';

const { signal } = new AbortController();

const readRepositories = ({ url }: GitlabEmulator, token: string, owner: string) =>
  createGitlabServer({ baseUrl: url, token, now: Date.now, random: Math.random, log: silentLog }).readRepositories(owner, signal);

/** A group with 120 projects, of which the last is archived and in a group of the group. */
const fill = async (gitlab: GitlabEmulator): Promise<string> => {
  const alice = gitlab.person('alice');
  for (let number = 1; number < 120; number += 1) await alice.createProject(`acme/service-${number}`);
  await alice.createProject('acme/web/old/shop');
  alice.archive('acme/web/old/shop');
  await alice.createProject('other/shop');
  return gitlab.groupToken('acme');
};

describe('the projects of a group of GitLab', () => {
  it('are all that are in it and in the groups below, over all pages', async () => {
    await using gitlab = await GitlabEmulator.start();
    const token = await fill(gitlab);
    const reading = await readRepositories(gitlab, token, 'acme');
    expect(reading).toMatchObject({ complete: true, faults: [] });
    expect(reading.items).toHaveLength(120);
    expect(reading.items[0]).toEqual({ path: 'acme/service-1', archived: false });
    expect(reading.items.at(-1)).toEqual({ path: 'acme/web/old/shop', archived: true });
    expect(await readRepositories(gitlab, token, 'acme/web')).toMatchObject({
      complete: true,
      items: [{ path: 'acme/web/old/shop' }],
    });
  });

  it.each([
    ['a page that does not come', { kind: 'status', status: 502 }, 'server error'],
    ['a page that breaks off', { kind: 'reset' }, ''],
  ] as const)('are not all known after %s', async (_case, failure, message) => {
    await using gitlab = await GitlabEmulator.start();
    const token = await fill(gitlab);
    gitlab.failures.add({ failure, match: { path: /[?&]page=2/ } });
    const reading = await readRepositories(gitlab, token, 'acme');
    expect(reading).toMatchObject({ complete: false, faults: [{ message: expect.stringContaining(message) }] });
    expect(reading.items).toHaveLength(100);
  });

  it('are not known where there is no such group, where it is empty, or with a token that was revoked', async () => {
    await using gitlab = await GitlabEmulator.start();
    gitlab.person('alice').createGroup('acme');
    const token = gitlab.groupToken('acme');
    const read = (owner: string) => readRepositories(gitlab, token, owner);
    expect(await read('acme')).toMatchObject({
      complete: false,
      faults: [{ message: expect.stringContaining('no repositories') }],
    });
    expect(await read('nobody')).toMatchObject({ complete: false, faults: [{ message: expect.stringContaining('not exist') }] });
    gitlab.revoke(token);
    expect(await read('acme')).toMatchObject({ complete: false, faults: [{ code: 'forge.refused' }] });
  });

  it('may be those of a user', async () => {
    await using gitlab = await GitlabEmulator.start();
    const alice = gitlab.person('alice');
    await alice.createProject('alice/notes');
    await alice.createProject('acme/shop');
    expect(await readRepositories(gitlab, gitlab.personalToken(alice), 'alice')).toEqual({
      complete: true,
      faults: [],
      items: [{ path: 'alice/notes', archived: false }],
    });
  });
});
