import { expect, it, vi } from 'vitest';

it('announces', () => {
  vi.doMock('./console.ts');
  expect(vi.isFakeTimers()).toBe(false);
});
