import { describe, expect, it } from 'vitest';
import { createCountedFetch } from './counted-fetch.ts';

/** A list whose body stays as it is while the number of all items changes. */
const createList = () => {
  const list = { total: '3', next: '2', asked: [] as (string | null)[] };
  const fetch = createCountedFetch(async (_input, init) => {
    const tag = new Headers(init?.headers).get('if-none-match');
    list.asked.push(tag);
    const headers = { etag: 'W/"body"', 'x-total': list.total, 'x-next-page': list.next };
    return tag === 'W/"body"' ? new Response(null, { status: 304, headers }) : new Response('[1]', { headers });
  });
  const read = (tag?: string) => fetch('http://gitlab.example/', { headers: tag === undefined ? {} : { 'if-none-match': tag } });
  return { list, read };
};

describe('a fetch with tags that also stand for the number of items', () => {
  it('asks GitLab for its own tag and passes on that nothing changed', async () => {
    const { list, read } = createList();
    const tag = (await read()).headers.get('etag') ?? '';
    const again = await read(tag);
    expect([again.status, again.headers.get('etag')]).toEqual([304, tag]);
    expect(list.asked).toEqual([null, 'W/"body"']);
  });

  it.each([
    ['the number of items', { total: '2' }],
    ['the next page', { next: '' }],
  ])('reads the page again when only %s changed', async (_what, change) => {
    const { list, read } = createList();
    const tag = (await read()).headers.get('etag') ?? '';
    Object.assign(list, change);
    const again = await read(tag);
    expect([again.status, await again.text()]).toEqual([200, '[1]']);
    expect(again.headers.get('etag')).not.toBe(tag);
  });

  it('leaves alone what has no tag', async () => {
    const fetch = createCountedFetch(async () => new Response('x'));
    const response = await fetch('http://gitlab.example/');
    expect([response.headers.get('etag'), await response.text()]).toEqual([null, 'x']);
  });
});
