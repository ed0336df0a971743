import { basename, dirname, join } from 'node:path';
import { Origin } from '@eph/adapters/forge-git/origin.fake';
import { shippedComments } from '@eph/adapters/forge-http/comments.fake';
import { type CommitSha, projectId, silentLog } from '@eph/contract';
import { describeReporter } from '@eph/engine/report/reporter.contract';
import { describeForge } from '@eph/engine/source/forge.contract';
import { describe, expect, it } from 'vitest';
import { createTemplateApi } from './api.ts';
import { template } from './entry.ts';

/** A repository that is reached as ephd does it: from the settings of its file. */
const start = async () => {
  const origin = await Origin.create();
  const api = createTemplateApi(origin.path);
  api.write({ pulls: [], statuses: [] });
  const settings = template.schema.parse({ type: 'template', url: dirname(origin.folder), token: { from: 'TOKEN' } });
  const createServer = settings.readCredentials(() => ({ value: 'secret', secret: true }));
  const { forge, reporter } = createServer({ now: Date.now, random: Math.random, log: silentLog }).connect({
    ...shippedComments,
    project: projectId('shop'),
    location: `${basename(origin.folder)}/${basename(origin.path)}`,
    folder: join(origin.folder, 'data'),
  });
  return {
    origin,
    api,
    forge,
    reporter,
    push: origin.push.bind(origin),
    annotate: origin.annotate.bind(origin),
    delete: origin.delete.bind(origin),
    writeNotes: origin.writeNotes.bind(origin),
    deleteNotes: origin.deleteNotes.bind(origin),
    disconnect: origin.hide.bind(origin),
    reconnect: origin.unhide.bind(origin),
    async [Symbol.asyncDispose]() {
      await forge[Symbol.asyncDispose]();
      await origin[Symbol.asyncDispose]();
    },
  };
};

describe('the template of a forge', () => {
  describeForge({ notices: false }, start);

  it('reads pull requests with everything else, and takes them for gone only if the forge says so', async () => {
    await using world = await start();
    const { api, forge, push } = world;
    const { signal } = new AbortController();
    const commit = await push({ kind: 'branch', name: 'work' }, { 'a.txt': 'a' });
    const texts = { title: 'Work', author: 'alice', head: 'work', base: 'main', updated: '2026-01-05T09:00:00Z' };
    const pull = { ...texts, number: 1, isOpen: true, labels: ['preview'], commit };
    const ref = { kind: 'pr', name: '1' } as const;
    api.write({ pulls: [pull], statuses: [] });
    const { items, complete } = await forge.sources(signal);
    expect([complete, items.map(({ ref: { kind } }) => kind)]).toEqual([true, ['branch', 'pr']]);
    expect(await forge.source(ref, signal)).toEqual({ state: 'present', source: items[1] });
    await world.disconnect();
    expect(await forge.source(ref, signal)).toMatchObject({ state: 'unknown' });
    await world.reconnect();
    api.write({ pulls: [{ ...pull, isOpen: false }], statuses: [] });
    expect(await forge.source(ref, signal)).toEqual({ state: 'gone' });
    expect((await forge.sources(signal)).items).toHaveLength(1);
  });
});

describe('the reports of the template', () => {
  describeReporter(async () => {
    const world = await start();
    const { api, push } = world;
    let commits = 0;
    return {
      ...world,
      project: projectId('shop'),
      commit(): Promise<CommitSha> {
        commits += 1;
        return push({ kind: 'branch', name: `preview/${commits}` }, { 'a.txt': String(commits) });
      },
      seen: ({ environment, commit }) =>
        Promise.resolve(api.read().statuses.find((one) => one.environment === environment && one.commit === commit)?.text),
      writes: () => Promise.resolve(api.read().statuses.reduce((sum, { edits }) => sum + edits, 0)),
    };
  });
});
