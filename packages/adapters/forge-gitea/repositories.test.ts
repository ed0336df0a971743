import { silentLog } from '@eph/contract';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { describeWith } from '../../../test/parts/describe-with.ts';
import { gitea } from '../../../test/parts/gitea.ts';
import type { GiteaUser } from '../../../test/parts/gitea-api.ts';
import type { GiteaAccess } from '../../../test/parts/gitea-server.ts';
import { findSharedGitea, ownName } from '../../../test/parts/shared-gitea.ts';
import { GiteaProxy } from './gitea-proxy.fake.ts';
import { createGiteaServer } from './gitea-server.ts';

const { signal } = new AbortController();
/** More than Gitea hands out at once. */
const total = 55;

describeWith(gitea, 'the repositories of an organisation of Gitea', () => {
  let server: GiteaAccess;
  let bot: GiteaUser;
  const [acme, empty] = [ownName('acme'), ownName('empty')];

  const create = (owner: string, name: string, isPrivate = false) =>
    server.api.send('POST', `/admin/users/${owner}/repos`, { name, private: isPrivate });

  beforeAll(async () => {
    server = await findSharedGitea();
    await server.createOrganisation(acme);
    await server.createOrganisation(empty);
    const made = await server.createUser(ownName('eph-bot'));
    bot = { ...made, token: await server.api.as(made).createToken('narrow', ['write:repository', 'write:issue', 'read:user']) };
    for (let number = 1; number <= total; number += 1) await create(acme, `service-${number}`);
    await create(acme, 'secret', true);
    await create(acme, 'shop', true);
    await server.repository(acme, 'shop').addCollaborator(bot, 'admin');
    await create(acme, 'old');
    await server.api.send('PATCH', `/repos/${acme}/old`, { archived: true });
    await create(bot.name, 'own', true);
  }, 300_000);

  const read = async (owner: string, change: (proxy: GiteaProxy) => void = () => undefined) => {
    const proxy = await GiteaProxy.start(server.port);
    onTestFinished(() => proxy[Symbol.asyncDispose]());
    change(proxy);
    const options = { baseUrl: proxy.url, token: bot.token, now: Date.now, random: Math.random, log: silentLog };
    return await createGiteaServer(options).readRepositories(owner, signal);
  };

  it('are all that Eph can see, over all pages', async () => {
    const reading = await read(acme);
    expect(reading).toMatchObject({ complete: true, faults: [] });
    expect(reading.items).toHaveLength(total + 2);
    expect(reading.items).toContainEqual({ path: `${acme}/shop`, archived: false });
    expect(reading.items).toContainEqual({ path: `${acme}/old`, archived: true });
    expect(reading.items).not.toContainEqual(expect.objectContaining({ path: `${acme}/secret` }));
  });

  it('may be those of a user', async () => {
    expect(await read(bot.name)).toEqual({ complete: true, faults: [], items: [{ path: `${bot.name}/own`, archived: false }] });
  });

  it.each([
    ['does not come', { status: 502 }],
    ['is empty', { status: 200, headers: { 'x-total-count': String(total + 2) }, body: '{"ok":true,"data":[]}' }],
    ['makes no sense', { status: 200, body: '{"ok":' }],
  ])('are not all known where a page %s', async (_case, answer) => {
    const reading = await read(acme, (proxy) => {
      proxy.substitute = (line) => (line.endsWith('page=2') ? answer : undefined);
    });
    expect(reading).toMatchObject({ complete: false, faults: [{}] });
  });

  it('are not known where there is no such owner, or nothing to see', async () => {
    expect(await read(ownName('nobody'))).toMatchObject({
      complete: false,
      faults: [{ message: expect.stringContaining('not exist') }],
    });
    expect(await read(empty)).toMatchObject({
      complete: false,
      faults: [{ message: expect.stringContaining('no repositories') }],
    });
  });
});
