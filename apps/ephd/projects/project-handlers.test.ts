import {
  heldQuerySchema,
  type ProjectId,
  projectId,
  projectQuerySchema,
  type SourcePage,
  sourceQuerySchema,
} from '@eph/contract';
import { branch, EngineHarness, oneService, shop } from '@eph/engine/loop/engine-harness.fake';
import { describe, expect, it, onTestFinished } from 'vitest';
import { administrator } from '../api/authenticate.ts';
import type { Caller } from '../api/handlers.ts';
import { createProjectHandlers } from './project-handlers.ts';

const names = ['alpha', 'bank', 'shop', 'shop-admin', 'web'];
const call = {
  path: {},
  query: undefined,
  body: undefined,
  environment: undefined,
  lastEventId: undefined,
  addToAudit: () => undefined,
  signIn: () => undefined,
  narrowTo: () => undefined,
  signal: new AbortController().signal,
} as const;

const callerWho = (may: (project: ProjectId | undefined) => boolean): Caller => ({
  identity: administrator,
  how: 'file',
  session: undefined,
  may: (_, project) => may(project),
});
const everybody = callerWho(() => true);

const start = () => {
  const harness = new EngineHarness().start();
  onTestFinished(() => harness.engine.close());
  const projects = new Map(
    names.toReversed().map((name) => [projectId(name), { id: projectId(name), location: `/git/${name}`, forge: undefined }]),
  );
  const handlers = createProjectHandlers({ engine: () => harness.engine, projects, providers: () => [] });
  return { harness, handlers };
};

/** All pages of a list, one after the other. */
const readAll = async <Page extends { readonly next: string | null }>(
  read: (after: string | undefined) => Page | Promise<Page>,
): Promise<readonly Page[]> => {
  const pages = [await read(undefined)];
  for (let next = pages[0]?.next ?? null; next !== null; next = pages.at(-1)?.next ?? null) pages.push(await read(next));
  return pages;
};

describe('the list of projects', () => {
  const list = async (query: object, caller = everybody): Promise<readonly (readonly string[])[]> => {
    const { handlers } = start();
    const pages = await readAll((after) =>
      handlers.listProjects({ ...call, query: projectQuerySchema.parse({ ...query, ...(after && { after }) }), caller }),
    );
    return pages.map(({ projects }) => projects.map(({ id }) => id));
  };

  it.each<readonly [object, readonly (readonly string[])[]]>([
    [{}, [names]],
    [{ limit: '2' }, [['alpha', 'bank'], ['shop', 'shop-admin'], ['web']]],
    [{ limit: '5' }, [names]],
    [{ limit: '1', text: 'SHOP' }, [['shop'], ['shop-admin']]],
    [{ text: 'none' }, [[]]],
  ])('with %j is in pages, by name', async (query, expected) => {
    expect(await list(query)).toEqual(expected);
  });

  it('goes on after a project that is gone', async () => {
    const { handlers } = start();
    const query = projectQuerySchema.parse({ after: 'bash' });
    const { projects } = await handlers.listProjects({ ...call, query, caller: everybody });
    expect(projects.map(({ id }) => id)).toEqual(['shop', 'shop-admin', 'web']);
  });

  it('has those that the caller may see, on no page another', async () => {
    const caller = callerWho((project) => project !== shop && project !== projectId('bank'));
    expect(await list({ limit: '2' }, caller)).toEqual([['alpha', 'shop-admin'], ['web']]);
  });
});

describe('the list of sources', () => {
  const startWithSources = async () => {
    const { harness, handlers } = start();
    for (const name of ['main', 'preview/b', 'preview/a']) harness.push(name);
    harness.repository.push({ kind: 'tag', name: 'v1' }, { 'eph.yaml': oneService });
    await harness.live(60);
    return (query: object): Promise<readonly SourcePage[]> =>
      readAll((after) =>
        handlers.listSources({
          ...call,
          path: { project: 'shop' },
          query: sourceQuerySchema.parse({ ...query, ...(after && { after }) }),
          caller: everybody,
        }),
      );
  };

  it.each<readonly [object, readonly (readonly string[])[]]>([
    [{}, [['main', 'preview/a', 'preview/b', 'v1']]],
    [{ limit: '3' }, [['main', 'preview/a', 'preview/b'], ['v1']]],
    [{ state: ['wanted'] }, [['preview/a', 'preview/b']]],
    [{ state: ['wanted'], limit: '1' }, [['preview/a'], ['preview/b']]],
    [{ state: ['unwanted'] }, [['main', 'v1']]],
    [{ state: ['unwanted', 'wanted'], text: 'preview' }, [['preview/a', 'preview/b']]],
    [{ state: ['unknown'] }, [[]]],
    [{ text: 'TAG' }, [['v1']]],
  ])('with %j is in pages, by kind and name', async (query, expected) => {
    const list = await startWithSources();
    expect((await list(query)).map(({ sources }) => sources.map(({ name }) => name))).toEqual(expected);
  });

  it('says of each whether it gets an environment, and why', async () => {
    const list = await startWithSources();
    const [page] = await list({});
    expect(page?.sources.map(({ name, state, environment }) => [name, state, environment !== null])).toEqual([
      ['main', 'unwanted', false],
      ['preview/a', 'wanted', true],
      ['preview/b', 'wanted', true],
      ['v1', 'unwanted', false],
    ]);
    expect(page?.sources.every(({ because, commit }) => because !== '' && commit.length === 40)).toBe(true);
  });
});

describe('the list of what is held', () => {
  it('has the environments whose removal waits for an operator, for operators of their project', async () => {
    const { harness, handlers } = start();
    for (const name of ['preview/a', 'preview/b', 'preview/c']) harness.push(name);
    await harness.live(60);
    for (const name of ['preview/a', 'preview/b', 'preview/c']) harness.repository.delete(branch(name));
    await harness.live(60);
    const read = (query: object, caller = everybody) =>
      readAll((after) =>
        handlers.listHeld({ ...call, query: heldQuerySchema.parse({ ...query, ...(after && { after }) }), caller }),
      );
    const [{ environments } = { environments: [] }] = await read({});
    expect(environments.map(({ name }) => name)).toEqual(harness.engine.environmentsByName().map(({ name }) => name));
    expect(environments).toHaveLength(3);
    expect(environments[0]).toMatchObject({ project: 'shop', because: expect.stringContaining('is gone') });
    const others = callerWho((project) => project !== shop);
    expect(await read({}, others)).toEqual([{ environments: [], next: null }]);
    const pagesOf = async (query: object) => (await read(query)).map((page) => page.environments.map(({ name }) => name));
    const [first = '', second = '', third = ''] = environments.map(({ name }) => name);
    expect(await pagesOf({ limit: '2' })).toEqual([[first, second], [third]]);
    expect(await pagesOf({ project: 'shop', text: second.toUpperCase() })).toEqual([[second]]);
    expect(await pagesOf({ project: 'bank' })).toEqual([[]]);
  });
});
