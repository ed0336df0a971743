import { describe, expect, it } from 'vitest';
import { createPrefetch } from './prefetch.ts';

describe('a prefetch', () => {
  it('saves the one who needs it from looking, once', async () => {
    const ahead = createPrefetch<string>(() => 0);
    ahead.begin('shop', async () => 'seen');
    expect(await ahead.take('shop')).toBe('seen');
    expect(await ahead.take('shop')).toBeUndefined();
    expect(await ahead.take('news')).toBeUndefined();
  });

  it('is not believed after a while', async () => {
    let now = 0;
    const ahead = createPrefetch<string>(() => now);
    ahead.begin('shop', async () => 'seen');
    now = 60_000;
    expect(await ahead.take('shop')).toBeUndefined();
  });

  it('that fails is as if nobody had looked', async () => {
    const ahead = createPrefetch<string>(() => 0);
    ahead.begin('shop', () => Promise.reject(new Error('the forge is away')));
    expect(await ahead.take('shop')).toBeUndefined();
  });
});
