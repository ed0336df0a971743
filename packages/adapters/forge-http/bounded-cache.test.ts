import { expect, it } from 'vitest';
import { createBoundedCache } from './bounded-cache.ts';

it('removes what was used least recently when the limit is exceeded', () => {
  const cache = createBoundedCache<number>(10);
  cache.set('a', 1, 4);
  cache.set('b', 2, 4);
  cache.get('a');
  cache.set('c', 3, 4);
  expect(['a', 'b', 'c'].map((key) => cache.get(key))).toEqual([1, undefined, 3]);
});

it('counts a replaced or deleted entry no longer', () => {
  const cache = createBoundedCache<number>(10);
  cache.set('a', 1, 9);
  cache.set('a', 2, 4);
  cache.set('b', 3, 6);
  expect([cache.get('a'), cache.get('b')]).toEqual([2, 3]);
  cache.delete('b');
  cache.set('c', 4, 6);
  expect([cache.get('a'), cache.get('c')]).toEqual([2, 4]);
});

it('does not keep what is larger than the limit', () => {
  const cache = createBoundedCache<number>(10);
  cache.set('a', 1, 4);
  cache.set('b', 2, 11);
  expect([cache.get('a'), cache.get('b')]).toEqual([1, undefined]);
});
