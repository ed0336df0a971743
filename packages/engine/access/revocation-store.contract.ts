import { expect, it, onTestFinished } from 'vitest';
import type { Revocation, RevocationStore, StoredRevocations } from './revocation-store.ts';

export interface RevocationStoreHarness extends AsyncDisposable {
  /** The store, opened once more: what another ephd or the next start sees. */
  open(): RevocationStore;
  /** Everything that was stored is gone, and the store works. */
  lose(): Promise<void>;
  readonly keeps: 'first generation' | 'last generation';
}

/** Far enough that nothing is dropped. */
const future = Date.parse('2200-01-01T00:00:00Z');

export const tokenRevocation = (id: string, until = future): Revocation => ({ kind: 'token', subject: id, before: 0, until });

const personRevocation = (person: string, before: number, until = future): Revocation => ({
  kind: 'person',
  subject: person,
  before,
  until,
});

const sorted = (stored: StoredRevocations | undefined): StoredRevocations | undefined =>
  stored && { ...stored, revocations: stored.revocations.toSorted((a, b) => (a.subject < b.subject ? -1 : 1)) };

export const describeRevocationStore = (create: () => Promise<RevocationStoreHarness>): void => {
  const start = async (): Promise<RevocationStoreHarness> => {
    const harness = await create();
    onTestFinished(() => harness[Symbol.asyncDispose]());
    return harness;
  };

  it('has nothing at first', async () => {
    expect(await (await start()).open().read()).toBeUndefined();
  });

  it('has a generation without any revocation', async () => {
    const { open } = await start();
    expect(await open().add({ generation: 'one', revocations: [] })).toBe('one');
    expect(await open().read()).toEqual({ generation: 'one', revocations: [] });
  });

  it('keeps what is added, for whoever opens it', async () => {
    const { open } = await start();
    const [first, second] = [tokenRevocation('a'), personRevocation('https://id.example.com#7', 5_000)];
    const store = open();
    await store.add({ generation: 'one', revocations: [first] });
    await store.add({ generation: 'one', revocations: [second] });
    const expected = { generation: 'one', revocations: [first, second] };
    expect(sorted(await store.read())).toEqual(expected);
    expect(sorted(await open().read())).toEqual(expected);
  });

  it('keeps a token and a person of the same name apart', async () => {
    const { open } = await start();
    await open().add({ generation: 'one', revocations: [tokenRevocation('a#b'), personRevocation('a#b', 7)] });
    expect((await open().read())?.revocations).toHaveLength(2);
  });

  it('keeps the later of two times, in whichever order they come', async () => {
    const { open } = await start();
    const store = open();
    for (const [before, until] of [
      [2_000, future],
      [1_000, future + 1],
      [3_000, future - 1],
    ] as const)
      await store.add({ generation: 'one', revocations: [personRevocation('a#b', before, until)] });
    expect((await open().read())?.revocations).toEqual([personRevocation('a#b', 3_000, future + 1)]);
  });

  it('may be added the same again', async () => {
    const { open } = await start();
    const given = { generation: 'one', revocations: [tokenRevocation('a')] };
    await open().add(given);
    await open().add(given);
    expect(await open().read()).toEqual(given);
  });

  it('loses none of those that come at once', async () => {
    const { open } = await start();
    const store = open();
    const ids = Array.from({ length: 20 }, (_, index) => `t${index}`).toSorted();
    await Promise.all(ids.map((id) => store.add({ generation: 'one', revocations: [tokenRevocation(id)] })));
    expect(sorted(await open().read())?.revocations.map(({ subject }) => subject)).toEqual(ids);
  });

  it('holds thousands, and text of all kinds', async () => {
    const { open } = await start();
    const people = ['é#ü', "o'hara#1", 'a#b"c\\d', '#'.repeat(100)].map((person) => personRevocation(person, 1));
    const tokens = Array.from({ length: 3_000 }, (_, index) => tokenRevocation(`t${index}`));
    await open().add({ generation: 'one', revocations: [...tokens, ...people] });
    const stored = await open().read();
    expect(stored?.revocations).toHaveLength(3_004);
    expect(stored?.revocations).toEqual(expect.arrayContaining(people));
  });

  it('drops those of tokens that have expired, and no others', async () => {
    const { open } = await start();
    const store = open();
    await store.add({ generation: 'one', revocations: [tokenRevocation('old', 1_000), tokenRevocation('new')] });
    await store.add({ generation: 'one', revocations: [tokenRevocation('newer')] });
    expect(sorted(await open().read())?.revocations.map(({ subject }) => subject)).toEqual(['new', 'newer']);
  });

  it('keeps the generation that counts', async () => {
    const { open, keeps } = await start();
    const expected = keeps === 'first generation' ? 'one' : 'two';
    await open().add({ generation: 'one', revocations: [tokenRevocation('a')] });
    expect(await open().add({ generation: 'two', revocations: [tokenRevocation('b')] })).toBe(expected);
    expect(sorted(await open().read())).toEqual({
      generation: expected,
      revocations: [tokenRevocation('a'), tokenRevocation('b')],
    });
  });

  it('has nothing after a loss, and takes everything again', async () => {
    const { open, lose } = await start();
    await open().add({ generation: 'one', revocations: [tokenRevocation('a')] });
    await lose();
    expect(await open().read()).toBeUndefined();
    expect(await open().add({ generation: 'two', revocations: [tokenRevocation('b')] })).toBe('two');
    expect(await open().read()).toEqual({ generation: 'two', revocations: [tokenRevocation('b')] });
  });
};
