import { describe, expect, it } from 'vitest';
import { type Answer, invalidAnswer } from './answer.ts';
import { createDropCheck } from './drop-check.ts';
import { type Listing, type Page, parseLinks, readPages } from './read-pages.ts';

type Pages = Readonly<Record<string, Page<number> | 'missing'>>;

const read = (...rounds: readonly Pages[]): Promise<Listing<number>> => {
  let round = -1;
  return readPages({
    first: '1',
    keyOf: (item) => item,
    shown: 'pull requests',
    readPage: (cursor): Promise<Answer<Page<number>>> => {
      if (cursor === '1') round += 1;
      const page = rounds[Math.min(round, rounds.length - 1)]?.[cursor] ?? 'missing';
      return Promise.resolve(page === 'missing' ? invalidAnswer('no answer') : { ok: true, value: page });
    },
  });
};

describe('pages', () => {
  it('are read to the end', async () => {
    const pages = { 1: { items: [1, 2], next: '2' }, 2: { items: [3, 4], next: '3' }, 3: { items: [5], next: undefined } };
    expect(await read(pages)).toEqual({ complete: true, items: [1, 2, 3, 4, 5] });
  });

  it('may hold nothing', async () => {
    expect(await read({ 1: { items: [], next: undefined, total: 0 } })).toEqual({ complete: true, items: [] });
    expect(await read({ 1: { items: [1], next: '2' }, 2: { items: [], next: undefined } })).toEqual({
      complete: true,
      items: [1],
    });
  });

  it.each<readonly [string, Pages, string]>([
    ['a page does not come', { 1: { items: [1, 2], next: '2' }, 2: 'missing' }, 'no answer'],
    ['the chain breaks off', { 1: { items: [1, 2], next: undefined, total: 5 } }, 'The forge did not list all pull requests.'],
    ['the chain leads back', { 1: { items: [1, 2], next: '1' } }, 'The pages of pull requests do not end.'],
    [
      'a page in the middle is empty',
      { 1: { items: [1, 2], next: '2' }, 2: { items: [], next: '3' } },
      'A page of pull requests is missing.',
    ],
    [
      'the list does not hold still',
      { 1: { items: [1, 2], next: '2', total: 3 }, 2: { items: [3], next: undefined, total: 4 } },
      'The pull requests changed while they were read.',
    ],
    [
      'an item slipped to another page',
      { 1: { items: [1, 2], next: '2', total: 4 }, 2: { items: [2, 3], next: undefined, total: 4 } },
      'The forge did not list all pull requests.',
    ],
  ])('are incomplete when %s', async (_, pages, message) => {
    expect(await read(pages)).toMatchObject({
      complete: false,
      items: expect.arrayContaining([1, 2]),
      refusal: { meaning: 'incomplete', fault: { code: 'forge.incomplete', message } },
    });
  });

  it('are read once more when the list changed meanwhile', async () => {
    const moved = { 1: { items: [1, 2], next: '2', total: 4 }, 2: { items: [4], next: undefined, total: 3 } };
    const settled = { 1: { items: [1, 2], next: '2', total: 3 }, 2: { items: [4], next: undefined, total: 3 } };
    expect(await read(moved, settled)).toEqual({ complete: true, items: [1, 2, 4] });
  });
});

describe('links', () => {
  it.each<readonly [string | null, Record<string, string>]>([
    [null, {}],
    [
      '<https://x/?page=2>; rel="next", <https://x/?page=9&a=b,c>; rel="last"',
      { next: 'https://x/?page=2', last: 'https://x/?page=9&a=b,c' },
    ],
    ['<https://x/?page=2>;rel=next', { next: 'https://x/?page=2' }],
    ['nonsense; rel=next, <>', {}],
  ])('of %s', (header, expected) => {
    expect(Object.fromEntries(parseLinks(header))).toEqual(expected);
  });
});

describe('an empty list', () => {
  const none: Listing<number> = { complete: true, items: [] };
  const some = (count: number): Listing<number> => ({
    complete: true,
    items: Array.from({ length: count }, (_, index) => index),
  });
  const count = (value: number) => () => Promise.resolve<Answer<number>>({ ok: true, value });

  it('counts at first only if the forge confirms it', async () => {
    expect(await createDropCheck('pull requests')(none, count(0))).toEqual(none);
    expect(await createDropCheck('pull requests')(none, count(7))).toMatchObject({ complete: false });
  });

  it('counts after many only if the forge confirms it', async () => {
    const check = createDropCheck('pull requests');
    await check(some(3), count(3));
    const doubted = {
      complete: false,
      items: [],
      refusal: { meaning: 'incomplete', fault: { message: 'The forge listed no pull requests, but it has some.' } },
    };
    expect(await check(none, count(3))).toMatchObject(doubted);
    expect(await check(none, count(3))).toMatchObject(doubted);
    expect(await check(none, () => Promise.resolve(invalidAnswer('no answer')))).toMatchObject({ complete: false });
    expect(await check(none, count(0))).toEqual(none);
  });

  it('counts after one or two, and while it stays empty, without a question', async () => {
    const check = createDropCheck('pull requests');
    const unasked = () => Promise.reject(new Error('asked'));
    await check(some(2), unasked);
    expect(await check(none, unasked)).toEqual(none);
    expect(await check(none, unasked)).toEqual(none);
  });
});
