import { EphError, projectId } from '@eph/contract';
import { describe } from 'vitest';
import { describeForge } from './forge.contract.ts';
import { FakeForge, FakeRepository } from './forge.fake.ts';

describe('the fake forge', () => {
  describeForge({ notices: true }, () => {
    const project = projectId('shop');
    const repository = new FakeRepository(project);
    let connected = true;
    const forge = new FakeForge(project, repository, {
      disturb: () => (connected ? Promise.resolve() : Promise.reject(new EphError('forge.unreachable', 'no answer'))),
    });
    const nudged = <T>(result: T): Promise<T> => {
      forge.nudge();
      return Promise.resolve(result);
    };
    return Promise.resolve({
      forge,
      push: (ref, files) => nudged(repository.push(ref, files)),
      annotate: (tag, commit) => nudged(repository.point({ kind: 'tag', name: tag }, commit)),
      delete: (ref) => nudged(repository.delete(ref)),
      writeNotes: (notes, texts) => Promise.resolve(void repository.notes.set(notes, new Map(texts))),
      deleteNotes: (notes) => Promise.resolve(void repository.notes.delete(notes)),
      disconnect: () => {
        connected = false;
        return Promise.resolve();
      },
      reconnect: () => {
        connected = true;
        return Promise.resolve();
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    });
  });
});
