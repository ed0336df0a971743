import { writeFile } from 'node:fs/promises';
import { get } from 'node:http';
import { join } from 'node:path';
import {
  type EnvironmentView,
  newTokenSchema,
  type StreamItem,
  sessionCodeSchema,
  sessionSchema,
  streamItemSchema,
} from '@eph/contract';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { EphdHarness } from './ephd-harness.ts';
import { eventually } from './eventually.ts';
import { clusterFile } from './platform-files.ts';
import type { RunningEphd } from './running-ephd.ts';
import { app } from './sample-app.ts';
import { SampleRepository } from './sample-repository.ts';

let harness: EphdHarness;
let ephd: RunningEphd;
let platform: SampleRepository;
let news: SampleRepository;
let environment: EnvironmentView;

const developer = (name: string): object => ({ who: [{ person: `team#${name}` }], role: 'developer', projects: ['shop'] });

const setRules = (...names: readonly string[]): Promise<string> =>
  platform.push('main', { ...clusterFile(), 'test/access.yaml': JSON.stringify({ rules: names.map(developer) }) });

beforeAll(async () => {
  harness = await EphdHarness.create();
  platform = await SampleRepository.create(harness.folder, 'platform');
  news = await SampleRepository.create(harness.folder, 'news');
  await setRules('ann', 'bob');
  const config = join(harness.folder, 'ephd.yaml');
  const projects = ['shop', 'news'].map((name) => ({ name, trusted: true, location: `${name}.git` }));
  const configuration = { repository: 'platform.git', environment: 'test' };
  await writeFile(config, JSON.stringify({ projects, configuration }));
  ephd = await harness.start({ projects: [], args: ['--config', config] });
  environment = await harness.untilReady('preview/one', await harness.repository.push('preview/one', app()));
});
afterAll(() => harness[Symbol.asyncDispose]());

class Stream {
  text = '';
  isOver = false;
  readonly #request;

  constructor(path: string, headers: Readonly<Record<string, string>> = {}) {
    const options = { host: '127.0.0.1', port: harness.apiPort, path, headers: { ...harness.authorization(), ...headers } };
    this.#request = get(options, (response) => {
      response.setEncoding('utf8').on('data', (more: string) => {
        this.text += more;
      });
      response.on('close', () => {
        this.isOver = true;
      });
      // A client may close the stream at any time.
      response.on('error', () => undefined);
    });
    this.#request.on('error', () => undefined);
  }

  get items(): readonly StreamItem[] {
    return [...this.text.matchAll(/^(?:id: \d{16}\n)?data: (\{"type".*)$/gm)].map(([, data]) =>
      streamItemSchema.parse(JSON.parse(data ?? '')),
    );
  }

  has(type: string): boolean {
    return this.items.some((item) => item.type === 'event' && item.event.type === type);
  }

  get lastId(): string {
    return [...this.text.matchAll(/^id: (\d{16})$/gm)].at(-1)?.[1] ?? '';
  }

  /** The last event, which says why it ended. */
  get reason(): unknown {
    return JSON.parse(/\n\nevent: end\ndata: (.*)\n\n$/.exec(this.text)?.[1] ?? 'null');
  }

  connected(): Promise<boolean> {
    return eventually('the stream is connected', () => this.text.startsWith(': connected\n\n'));
  }

  close(): void {
    this.#request.destroy();
  }
}

const post = async (path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<unknown> =>
  JSON.parse((await harness.api(path, { method: 'POST', body: JSON.stringify(body), headers })).body);

const createToken = async (name: string, lifetime: string) => {
  const made = await post('/api/v1/tokens', { person: `team#${name}`, scope: 'read', for: lifetime });
  const { id, token } = newTokenSchema.parse(made);
  return { id, headers: { authorization: `Bearer ${token}` } };
};

it('shows what happens and what environments are, and resumes where a client left', async () => {
  const { headers } = await createToken('ann', '1h');
  const stream = new Stream('/api/v1/stream', headers);
  await stream.connected();
  // Of a project that the caller may not see; what happens after it is shown after it.
  await harness.untilReady('preview/hidden', await news.push('preview/hidden', app()));
  await news.delete('preview/hidden');
  await harness.untilGone('preview/hidden');
  await harness.repository.push('preview/two', app());
  await eventually('it is ready', () => stream.items.some((item) => item.type === 'status' && item.phase === 'Ready'));
  await eventually('and history says so', () => stream.has('status.changed'));
  const before = stream.lastId;
  stream.close();
  await harness.repository.delete('preview/two');
  await harness.untilGone('preview/two');

  const resumed = new Stream('/api/v1/stream?project=shop', { ...headers, 'last-event-id': before });
  await eventually('the removal is shown', () => resumed.has('environment.removed'));
  expect(resumed.has('environment.wanted')).toBe(false);
  await harness.repository.push('preview/three', app());
  await eventually('the next one is shown', () => resumed.has('environment.wanted'));
  await harness.repository.delete('preview/three');
  await eventually('and gone', () => resumed.items.some(({ type }) => type === 'gone'));
  resumed.close();
  expect(`${stream.text}${resumed.text}`).not.toMatch(/news|audit\./);
});

const paths = () => [`/api/v1/environments/${environment.id}/logs?follow=true`, '/api/v1/stream', '/api/v1/stream?project=shop'];

/** Both end with the same reason after this. */
const expectEnd = async (streams: readonly Stream[], cut: () => unknown, code: string, sentence: RegExp): Promise<void> => {
  for (const stream of streams) await stream.connected();
  expect(streams.map(({ isOver }) => isOver)).toEqual(streams.map(() => false));
  await cut();
  await eventually('all streams have ended', () => streams.every(({ isOver }) => isOver));
  for (const { reason } of streams) expect(reason).toMatchObject({ code, message: expect.stringMatching(sentence) });
};

it('ends streams when the token expires', async () => {
  const { headers } = await createToken('ann', '3s');
  const streams = paths().map((path) => new Stream(path, headers));
  await expectEnd(streams, () => undefined, 'api.unauthorized', /expired/);
});

it('ends streams when the token is revoked', async () => {
  const { id, headers } = await createToken('ann', '1h');
  const streams = paths().map((path) => new Stream(path, headers));
  const revoke = () => harness.api(`/api/v1/tokens/${id}`, { method: 'DELETE' });
  await expectEnd(streams, revoke, 'api.unauthorized', /revoked/);
});

it('ends streams when the rule is removed that gave the role, and no others', async () => {
  const [ann, bob] = [await createToken('ann', '1h'), await createToken('bob', '1h')];
  const streams = paths().map((path) => new Stream(path, bob.headers));
  const others = paths().map((path) => new Stream(path, ann.headers));
  await expectEnd(streams, () => setRules('ann'), 'api.forbidden', /no rule gives a role|no project with the role/);
  expect(others.map(({ isOver }) => isOver)).toEqual([false, false, false]);
  for (const other of others) other.close();
});

it('ends streams with the session of their page', async () => {
  const { code } = sessionCodeSchema.parse(await post('/api/v1/auth/codes', {}));
  const { token } = sessionSchema.parse(await post('/api/v1/auth/login', { code }));
  const headers = { authorization: `Bearer ${token}` };
  const streams = paths().map((path) => new Stream(path, headers));
  await expectEnd(streams, () => post('/api/v1/auth/logout', {}, headers), 'api.unauthorized', /session has ended/);
});

it('ends a log without a reason when its environment is removed', async () => {
  const { id } = await harness.untilReady('preview/four', await harness.repository.push('preview/four', app()));
  const stream = new Stream(`/api/v1/environments/${id}/logs?follow=true`);
  await eventually('it has a line', () => stream.text.includes('answering'));
  await harness.repository.delete('preview/four');
  await eventually('it has ended', () => stream.isOver);
  expect(stream.reason).toBe(null);
});

it('ends streams when ephd stops', async () => {
  const streams = paths().map((path) => new Stream(path));
  await expectEnd(streams, () => ephd.stop(), 'api.stopping', /^ephd is stopping$/);
});
