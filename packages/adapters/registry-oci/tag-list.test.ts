import { projectId } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { startScripted } from './registry-harness.fake.ts';
import type { ScriptedAnswer, ScriptedRequest } from './scripted-registry.fake.ts';

const project = projectId('shop');

const start = async () => {
  const { server, registry, repository } = await startScripted();
  const { signal } = new AbortController();
  const tags = (matches: (tag: string) => boolean = () => true) => registry.tags({ project, repository }, matches, signal);
  return { server, tags };
};

const all = Array.from({ length: 3_500 }, (_, at) => `pr-${at}`);

/** Serves the list as the specification says: at most `n` tags after `last`. */
const servePages =
  (linkOf: (query: string, host: string) => string) =>
  ({ target, headers }: ScriptedRequest): ScriptedAnswer => {
    const { searchParams } = new URL(target, 'http://host');
    const from = all.indexOf(searchParams.get('last') ?? '') + 1;
    const page = all.slice(from, from + Number(searchParams.get('n')));
    const query = `?last=${page.at(-1)}&n=${searchParams.get('n')}`;
    const isLast = from + page.length === all.length;
    return {
      body: { name: 'acme/shop', tags: page },
      headers: isLast ? {} : { link: linkOf(query, headers.host ?? '') },
    };
  };

const refused = (sentence: RegExp) => ({ code: 'registry.refused', message: expect.stringMatching(sentence) });

describe('a list of tags', () => {
  it.each<[string, (query: string, host: string) => string]>([
    ['relative', (query) => `</v2/acme/shop/tags/list${query}>; rel="next"`],
    ['absolute', (query, host) => `<http://${host}/v2/acme/shop/tags/list${query}>; rel="next"`],
    [
      'absolute, with the address behind a proxy',
      (query) => `<http://registry.internal:5000/v2/acme/shop/tags/list${query}>; rel="next"`,
    ],
    ['a query alone', (query) => `<${query}>; rel=next`],
    ['one of several', (query) => `</v2/first>; rel="first", </v2/acme/shop/tags/list${query}>; rel="next"`],
  ])('has pages of a thousand, whose links are %s', async (_, linkOf) => {
    const { server, tags } = await start();
    server.script = servePages(linkOf);
    const answer = await tags((tag) => tag.endsWith('9'));
    expect(answer).toEqual({ state: 'found', tags: all.filter((tag) => tag.endsWith('9')) });
    expect(server.targets().map((target) => new URL(target, 'http://host').searchParams.get('n'))).toEqual([
      '1000',
      '1000',
      '1000',
      '1000',
    ]);
  });

  it('may come at once, whatever was asked for', async () => {
    const { server, tags } = await start();
    server.script = () => ({ body: { name: 'acme/shop', tags: all } });
    expect(await tags()).toEqual({ state: 'found', tags: all });
  });

  it('may have more than tags, as on GCR, and none', async () => {
    const { server, tags } = await start();
    server.script = () => ({ body: { child: [], manifest: { 'sha256:a': { tag: ['v1'] } }, name: 'acme/shop', tags: ['v1'] } });
    expect(await tags()).toEqual({ state: 'found', tags: ['v1'] });
    for (const none of [null, []]) {
      server.script = () => ({ body: { name: 'acme/shop', tags: none } });
      expect(await tags()).toEqual({ state: 'found', tags: [] });
    }
  });

  it('leaves out what is no tag, and what comes twice', async () => {
    const { server, tags } = await start();
    server.script = () => ({ body: { tags: ['v1', 'v1', '', '../x', 'a b', 'a\nb', 'x'.repeat(129), '-x', 'v2'] } });
    expect(await tags()).toEqual({ state: 'found', tags: ['v1', 'v2'] });
  });

  it.each([
    ['to itself', () => '</v2/acme/shop/tags/list?n=1000>; rel="next"'],
    ['in a circle', (target: string) => `<?last=${target.includes('last=a') ? 'b' : 'a'}>; rel="next"`],
    ['ever further', (_target: string, count: number) => `<?last=${count}>; rel="next"`],
  ])('is refused if its links lead %s', async (_, linkOf) => {
    const { server, tags } = await start();
    server.script = ({ target }) => ({ body: { tags: ['v1'] }, headers: { link: linkOf(target, server.requests.length) } });
    await expect(tags()).rejects.toMatchObject(refused(/acme\/shop does not end\.$/));
    expect(server.requests.length).toBeLessThanOrEqual(1_000);
  });

  it('is refused if it is larger than anybody reads', async () => {
    const { server, tags } = await start();
    const page = JSON.stringify({ tags: [], padding: 'x'.repeat(20 * 1024 * 1024) });
    server.script = () => ({ body: page, headers: { link: `<?last=${server.requests.length}>; rel="next"` } });
    await expect(tags()).rejects.toMatchObject(refused(/has more than 64 MiB\.$/));
    expect(server.requests).toHaveLength(4);
  });

  it.each(['', 'not json', '[]', '{}', '{"tags": "v1"}', '{"tags": [1]}', '{"tags": ["v1"'])(
    'is refused if it is %j',
    async (body) => {
      const { server, tags } = await start();
      server.script = () => ({ body });
      await expect(tags()).rejects.toMatchObject(refused(/acme\/shop is not valid\.$/));
    },
  );

  it('is not complete without its last page', async () => {
    const { server, tags } = await start();
    const serve = servePages((query) => `<${query}>; rel="next"`);
    server.script = (request) => (request.target.includes('pr-1999') ? { status: 500 } : serve(request));
    await expect(tags()).rejects.toMatchObject({ code: 'registry.unreachable' });
  });
});
