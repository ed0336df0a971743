import { describe, expect, it } from 'vitest';
import { isLoopback } from './loopback.ts';

describe('a host', () => {
  it.each(['localhost', '127.0.0.1', '127.1.2.3', '::1', '[::1]'])('%s is the own machine', (host) => {
    expect(isLoopback(host)).toBe(true);
  });

  it.each(['0.0.0.0', '127.example.com', '127.0.0.1.example.com', 'a.localhost', '[::]', '::2', ''])('%s is not', (host) => {
    expect(isLoopback(host)).toBe(false);
  });
});
