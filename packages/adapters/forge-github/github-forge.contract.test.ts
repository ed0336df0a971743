import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commitSha, projectId, silentLog } from '@eph/contract';
import { describeForge, type ForgeHarness } from '@eph/engine/source/forge.contract';
import { describe } from 'vitest';
import { GithubEmulator } from '../../../test/parts/github/github-emulator.ts';
import { notePath } from '../forge-git/origin.fake.ts';
import { shippedComments } from '../forge-http/comments.fake.ts';
import type { GithubAuth } from './github-identity.ts';
import { createGithubServer } from './github-server.ts';

const createHarness = async (
  flavour: 'github.com' | 'enterprise',
  authorize: (github: GithubEmulator) => GithubAuth,
): Promise<ForgeHarness> => {
  const github = await GithubEmulator.start({ flavour });
  const repository = github.createRepository('acme/shop', { private: true, files: null });
  const folder = await mkdtemp(join(tmpdir(), 'eph-forge-github-'));
  const options = { baseUrl: github.url, auth: authorize(github), now: Date.now, random: Math.random, log: silentLog };
  const { forge } = createGithubServer(options).connect({
    ...shippedComments,
    project: projectId('shop'),
    location: 'acme/shop',
    folder: join(folder, 'data'),
  });
  const held = new Map<string, readonly string[]>();
  return {
    forge,
    push: (ref, files) => {
      const branch = ref.kind === 'tag' ? `tmp-${ref.name}` : ref.name;
      const before = [...held.values()].flat();
      const sha = repository.push(branch, { ...Object.fromEntries(before.map((path) => [path, null])), ...files });
      held.set(branch, Object.keys(files));
      if (ref.kind === 'tag') {
        repository.pushTag(ref.name, { at: branch });
        repository.deleteBranch(branch);
      }
      return Promise.resolve(commitSha(sha));
    },
    annotate: (tag, commit) => {
      repository.pushTag(tag, { at: commit, annotated: true });
      return Promise.resolve();
    },
    delete: (ref) => {
      if (ref.kind === 'tag') repository.deleteTag(ref.name);
      else repository.deleteBranch(ref.name);
      return Promise.resolve();
    },
    writeNotes: (notes, texts, fanOut = 0) => {
      const files = [...texts].map(([commit, text]) => [notePath(commit, fanOut), text]);
      return Promise.resolve(repository.pushNotes(notes, Object.fromEntries(files)));
    },
    deleteNotes: (notes) => Promise.resolve(repository.pushNotes(notes, undefined)),
    countRequests: () => github.requests.total.requests,
    disconnect: () => {
      github.failures.add({ failure: { kind: 'reset' } });
      return Promise.resolve();
    },
    reconnect: () => {
      github.failures.clear();
      return Promise.resolve();
    },
    async [Symbol.asyncDispose]() {
      await forge[Symbol.asyncDispose]();
      await github.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
};

describe('a repository of github.com, as an App', () => {
  describeForge({ notices: false }, () =>
    createHarness('github.com', (github) => {
      const app = github.createApp();
      app.install('acme');
      return { appId: app.id, privateKey: app.privateKey };
    }),
  );
});

describe('a repository of an enterprise server, with a token', () => {
  describeForge({ notices: false }, () => createHarness('enterprise', (github) => ({ token: github.createToken() })));
});
