import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EmulatedRepository } from '../../../test/parts/github/control/emulated-repository.ts';
import { GithubEmulator } from '../../../test/parts/github/github-emulator.ts';
import { Receiver, secrets, shop } from './receiver.fake.ts';

let github: GithubEmulator;
let receiver: Receiver;
let repository: EmulatedRepository;
beforeEach(async () => {
  github = await GithubEmulator.start();
  receiver = await new Receiver().start();
  repository = github.createRepository('acme/shop', { private: true });
});
afterEach(async () => {
  await github.stop();
  await receiver[Symbol.asyncDispose]();
});

const hook = (secret: string): void => repository.addHook(`${receiver.url}/webhooks/github`, { secret });
const outcomes = (): readonly unknown[] => github.webhooks.deliveries.map(({ outcome }) => outcome);

/** Everything that may change which environments are wanted. */
const liveThrough = (target: EmulatedRepository): void => {
  target.push('work', { 'a.txt': 'a' });
  const pull = target.openPullRequest({ head: 'work' });
  pull.label('größe 日本語 🚢');
  pull.label(`preview:${'x'.repeat(100_000)}`);
  pull.edit({ title: '<img src=x> **bold** `code`', body: '</script>\u202e' });
  pull.convertToDraft();
  pull.markReady();
  target.push('release', {});
  pull.edit({ base: 'release' });
  target.push('work', { 'b.txt': 'b' }, { from: 'main' });
  pull.close();
  pull.reopen();
  pull.comment('/deploy', { by: 'ada' });
};

describe('what GitHub delivers', () => {
  it('is accepted and wakes the project each time', async () => {
    hook(secrets.github);
    liveThrough(repository);
    await github.webhooks.settled();
    expect(new Set(outcomes())).toEqual(new Set([202]));
    expect(receiver.woken).toEqual(
      outcomes()
        .slice(1)
        .map(() => shop),
    );
  });

  it('is refused with another secret, and wakes nobody', async () => {
    hook('guessed');
    liveThrough(repository);
    await github.webhooks.settled();
    expect(new Set(outcomes())).toEqual(new Set([401]));
    expect(receiver.woken).toEqual([]);
  });

  it('wakes nobody when it is delivered again', async () => {
    github.webhooks.duplicateProbability = 1;
    hook(secrets.github);
    liveThrough(repository);
    await github.webhooks.settled();
    const before = receiver.woken.length;
    expect(before).toBe(outcomes().length / 2 - 1);
    github.webhooks.duplicateProbability = 0;
    for (const delivery of github.webhooks.deliveries.slice()) github.webhooks.replay(delivery);
    await github.webhooks.settled();
    expect(new Set(outcomes())).toEqual(new Set([202]));
    expect(receiver.woken).toHaveLength(before);
  });

  it('wakes the project when its repository is made public, made private or deleted', async () => {
    hook(secrets.github);
    await github.webhooks.settled();
    const acts = [() => repository.makePublic(), () => repository.makePrivate(), () => repository.delete()];
    for (const act of acts) {
      const before = receiver.woken.length;
      act();
      await github.webhooks.settled();
      expect(receiver.woken).toHaveLength(before + 1);
    }
  });
});
