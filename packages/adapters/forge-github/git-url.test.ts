import { expect, it } from 'vitest';
import { gitUrlOf } from './git-url.ts';

it.each([
  ['https://api.github.com', 'https://github.com/acme/shop.git'],
  ['https://api.acme.ghe.com', 'https://acme.ghe.com/acme/shop.git'],
  ['https://github.example.com/api/v3', 'https://github.example.com/acme/shop.git'],
  ['https://api.example.com/git/api/v3', 'https://api.example.com/git/acme/shop.git'],
  ['http://127.0.0.1:8080', 'http://127.0.0.1:8080/acme/shop.git'],
])('the repositories of the API %s are at %s', (api, url) => {
  expect(gitUrlOf(api, 'acme', 'shop')).toBe(url);
});
