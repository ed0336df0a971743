import { projectId } from '@eph/contract';
import { describe } from 'vitest';
import { FakeRepository } from './forge.fake.ts';
import { describeRefWriter } from './ref-writer.contract.ts';
import { FakeRefWriter } from './ref-writer.fake.ts';

const folders = { branch: 'refs/heads/', tag: 'refs/tags/', pr: 'refs/pull/' } as const;

describe('a repository in memory', () => {
  describeRefWriter(async () => {
    const repository = new FakeRepository(projectId('shop'));
    return {
      writer: new FakeRefWriter('preview/', repository),
      push: async (ref, text) => repository.push(ref, { 'a.txt': text }),
      refs: async () =>
        Object.fromEntries([...repository.refs.values()].map(({ ref, commit }) => [`${folders[ref.kind]}${ref.name}`, commit])),
      [Symbol.asyncDispose]: async () => undefined,
    };
  });
});
