import { describe, expect, it } from 'vitest';
import { prefersHtml } from './accept.ts';

describe('what a client would rather read', () => {
  it.each([
    ['a browser', 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8', true],
    ['HTML alone', 'text/html', true],
    ['any text', 'text/*', true],
    ['HTML a little more', 'application/json;q=0.8, text/html;q=0.9', true],
    ['upper case', 'TEXT/HTML', true],
    ['curl', '*/*', false],
    ['nothing said', undefined, false],
    ['nothing in it', '', false],
    ['JSON', 'application/json', false],
    ['both alike', 'text/html, application/json', false],
    ['HTML refused', 'text/html;q=0, */*;q=0.1', false],
    ['a weight that is no number', 'text/html;q=much', false],
    ['noise', ';;,,/;q=,text', false],
  ])('%s', (_, accept, expected) => {
    expect(prefersHtml(accept)).toBe(expected);
  });
});
