import { describe, expect, it } from 'vitest';
import { type Answer, invalidAnswer } from '../forge-http/answer.ts';
import { type GithubPage, listPages, parsePosition } from './pages.ts';

type Read = (page: number, unconditional: boolean) => Answer<GithubPage<number>>;

const positionOf = (link: string) => parsePosition(new Headers({ link }));

const page = (items: readonly number[], ...relations: readonly string[]): Answer<GithubPage<number>> => ({
  ok: true,
  value: { items, ...positionOf(relations.map((relation) => `<https://x/?page=9>; rel="${relation}"`).join(', ')) },
});

const list = (read: Read) =>
  listPages<number>({
    keyOf: (item) => item,
    shown: 'things',
    settled: new WeakMap(),
    readPage: (number, unconditional) => Promise.resolve(read(number, unconditional)),
  });

describe('pages that never stay the same', () => {
  it('are given up after some rounds', async () => {
    let reads = 0;
    const listing = await list((number) => {
      reads += 1;
      return number === 1 ? page([reads], 'next') : page([1_000], 'prev');
    });
    expect(listing).toMatchObject({ complete: false, refusal: { fault: { code: 'forge.incomplete' } } });
    expect(reads).toBe(8);
  });
});

describe('a page that is empty although it was promised', () => {
  it('is the end if the page before it, read again, has no next link any more', async () => {
    const asked: string[] = [];
    const listing = await list((number, unconditional) => {
      asked.push(`${number} ${unconditional}`);
      if (number === 2) return page([], 'prev');
      return unconditional ? page([1]) : page([1], 'next');
    });
    expect(listing).toEqual({ complete: true, items: [1] });
    expect(asked).toContain('1 true');
  });

  it('is missing if that still promises it, and unknown if that does not answer', async () => {
    expect(await list((number) => (number === 2 ? page([], 'prev') : page([1], 'next')))).toMatchObject({ complete: false });
    const silent: Read = (number, unconditional) => {
      if (unconditional) return invalidAnswer('no answer');
      return number === 2 ? page([], 'prev') : page([1], 'next');
    };
    expect(await list(silent)).toMatchObject({ complete: false, refusal: { fault: { message: 'no answer' } } });
  });
});

describe('a page', () => {
  it('says which one is the last', () => {
    expect(positionOf('<https://x/y?page=2>; rel="next", <https://x/y?a=b&page=7>; rel="last"')).toMatchObject({
      hasNext: true,
      hasPrevious: false,
      last: 7,
    });
    for (const link of ['', '<%%>; rel="last"', '<https://x/?page=-1>; rel="last"', '<http://[>; rel="last"'])
      expect(positionOf(link), link).toMatchObject({ hasNext: false, last: undefined });
  });
});
