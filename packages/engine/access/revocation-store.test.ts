import { describe } from 'vitest';
import { describeRevocationStore } from './revocation-store.contract.ts';
import { FakeRevocationStore } from './revocation-store.fake.ts';

describe.each([
  ['file', 'last generation'],
  ['database', 'first generation'],
] as const)('a fake %s', (place, keeps) => {
  describeRevocationStore(() => {
    const store = new FakeRevocationStore(place, Date.now);
    const lose = () => Promise.resolve(store.lose());
    return Promise.resolve({ keeps, open: () => store, lose, [Symbol.asyncDispose]: () => Promise.resolve() });
  });
});
