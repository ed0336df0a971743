import { describe, expect, it } from 'vitest';
import { createParseHost } from './destination.ts';

describe('the label in a host', () => {
  it.each([
    ['shop.localhost', 'shop', ''],
    ['shop.localhost:8080', 'shop', ':8080'],
    ['SHOP.LocalHost:8080', 'shop', ':8080'],
    ['shop.localhost.', 'shop', ''],
    ['shop.localhost.:80', 'shop', ':80'],
    [`${'a'.repeat(63)}.localhost`, 'a'.repeat(63), ''],
  ])('is found in %j', (host, label, port) => {
    expect(createParseHost('localhost')(host)).toEqual({ label, port });
  });

  it.each([
    '',
    '.',
    'localhost',
    'localhost:8080',
    '.localhost',
    'a.shop.localhost',
    'shop..localhost',
    'shop.localhost..',
    'shoplocalhost',
    'shop.localhost.evil.example',
    'shop.localhost@evil.example',
    'user@shop.localhost',
    'shop.localhost:',
    'shop.localhost:80:80',
    'shop.localhost:123456',
    'shop.localhost:8o',
    'shop.localhost/',
    ' shop.localhost',
    'shop.localhost ',
    'shop.localhost\t',
    '-shop.localhost',
    'shop-.localhost',
    'sh_op.localhost',
    '../etc.localhost',
    `${'a'.repeat(64)}.localhost`,
    '[::1]:80',
    '127.0.0.1',
    'sh\u00f6p.localhost',
    '__proto__.localhost',
  ])('is not found in %j', (host) => {
    expect(createParseHost('localhost')(host)).toBeUndefined();
  });

  it('is looked for under the domain as it is written', () => {
    const parseHost = createParseHost('preview.example.com');
    expect(parseHost('shop.preview.example.com')).toEqual({ label: 'shop', port: '' });
    expect(parseHost('shop.previewXexample.com')).toBeUndefined();
  });
});
