import { describe, expect, it } from 'vitest';
import { parseQuantity } from './quantity.ts';

describe('an amount', () => {
  it.each([
    ['0', 0],
    ['2', 2],
    ['100m', 0.1],
    ['0.5', 0.5],
    ['.5', 0.5],
    ['2.', 2],
    ['1e3', 1000],
    ['1E3', 1000],
    ['1E', 1e18],
    ['1k', 1000],
    ['1Ki', 1024],
    ['128Mi', 134_217_728],
    ['4Gi', 4_294_967_296],
    ['1.5Gi', 1_610_612_736],
    ['4G', 4e9],
    ['5u', 5e-6],
    ['5n', 5e-9],
  ])('%s is %d', (text, amount) => {
    expect(parseQuantity(text)).toBeCloseTo(amount, 12);
  });

  it.each([
    '',
    'm',
    'Gi',
    '-1',
    '+1',
    '1 Gi',
    ' 1',
    '1gi',
    '1K',
    '1kb',
    '1MB',
    '1e',
    '1e3Mi',
    '1,5',
    'NaN',
    'Infinity',
    '.',
    '1e999',
  ])('%j is none', (text) => {
    expect(parseQuantity(text)).toBeUndefined();
  });
});
