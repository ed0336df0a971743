import { expect, it, vi } from 'vitest';

vi.mock('./console.ts');

it('announces', () => {
  expect(vi.isFakeTimers()).toBe(false);
});
