import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type NewToken, newTokenSchema } from '@eph/contract';
import { expect, it } from 'vitest';
import { describeWith } from '../parts/describe-with.ts';
import { faketime, withClock } from '../parts/faketime.ts';
import { EphdHarness } from './ephd-harness.ts';
import { runEph } from './run-eph.ts';
import { app, oneService } from './sample-app.ts';

const person = 'https://id.example.com#4711';

describeWith(faketime, 'an ephd whose clock is wrong', () => {
  it('refuses tokens until it is right, revives none, and changes no environment', { timeout: 180_000 }, async () => {
    await using harness = await EphdHarness.create();
    const config = join(harness.folder, 'ephd.yaml');
    const projects = [{ name: 'shop', location: harness.repository.path, trusted: true }];
    await writeFile(config, JSON.stringify({ projects, access: { rules: [{ who: { person }, role: 'developer' }] } }));
    const start = (offset?: string) =>
      harness.start({ projects: [], args: ['--config', config], env: offset === undefined ? {} : withClock(offset) });
    const mint = async (): Promise<NewToken> => {
      const body = JSON.stringify({ person, scope: 'read', for: '1h' });
      return newTokenSchema.parse(JSON.parse((await harness.api('/api/v1/tokens', { method: 'POST', body })).body));
    };
    const revoke = ({ id }: NewToken) => harness.api(`/api/v1/tokens/${id}`, { method: 'DELETE' });
    const ask = async ({ token }: NewToken) => {
      const headers = { authorization: `Bearer ${token}` };
      const { status, body } = await harness.anonymousApi('/api/v1/auth/status', { headers });
      return { status, body };
    };
    const refused = (because: string) => ({ status: 401, body: expect.stringContaining(because) });

    let ephd = await start();
    const commit = await harness.repository.push('preview/one', app(oneService));
    const { id, name, createdAt } = await harness.untilReady('preview/one', commit);
    const pids = harness.services().map(({ pid }) => pid);
    const [valid, revoked, revokedLater] = [await mint(), await mint(), await mint()];
    await revoke(revoked);
    const restart = async (offset?: string): Promise<void> => {
      await ephd.kill();
      ephd = await start(offset);
      expect(await harness.untilReady('preview/one', commit)).toMatchObject({ id, name, createdAt });
      expect(harness.services().map(({ pid }) => pid)).toEqual(pids);
    };

    await restart('+2h');
    expect(await ask(valid)).toEqual(refused('the token has expired'));
    expect((await ask(await mint())).status).toBe(200);
    const { out } = await runEph(harness, ['wtf']);
    expect(out).toMatch(/^failing +clock +.*\n +Set both by NTP/m);

    await restart('-2h');
    expect(await ask(valid)).toEqual(refused('the token is not valid yet; check the clocks'));
    expect((await ask(await mint())).status).toBe(200);
    await revoke(revokedLater);

    // What was revoked is remembered for 30 days after it expires.
    await restart('+20d');
    await mint();

    await restart();
    expect((await ask(valid)).status).toBe(200);
    for (const token of [revoked, revokedLater]) expect(await ask(token)).toEqual(refused('the token was revoked'));
  });
});
