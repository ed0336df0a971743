import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  commitSha,
  componentName,
  dnsLabel,
  environmentId,
  environmentName,
  eventId,
  projectId,
  providerName,
  revision,
} from './ids.ts';

const label63 = 'a'.repeat(63);

describe('an id', () => {
  it.each<readonly [string, (text: string) => string, readonly string[], readonly string[]]>([
    [
      'a project',
      projectId,
      ['shop', 's', '2shop', 'my-shop', label63],
      ['', 'Shop', '-shop', 'shop-', 'my_shop', 'my.shop', '../shop', `${label63}a`],
    ],
    [
      'an environment id',
      environmentId,
      ['0123456789abcdef'],
      ['', '0123456789abcde', '0123456789abcdeff', '0123456789ABCDEF', '0123456789abcdeg'],
    ],
    [
      'an environment name',
      environmentName,
      ['shop-serene-ocean-4207', label63],
      ['', 'shop.localhost', 'shop/x', `${label63}a`],
    ],
    ['a component', componentName, ['web', 'web-2'], ['', 'Web', 'web/../api', 'web api', '__proto__']],
    ['a provider', providerName, ['process'], ['', 'process/x']],
    [
      'a commit',
      commitSha,
      ['0'.repeat(40), 'a1'.repeat(32)],
      ['', 'HEAD', '0'.repeat(39), '0'.repeat(41), 'G'.repeat(40), 'A'.repeat(40)],
    ],
    ['an event id', eventId, ['0'.repeat(16), '1767600000500000'], ['', '1', '0'.repeat(17), '-'.repeat(16), ' '.repeat(16)]],
    ['a revision', revision, ['0'.repeat(16), 'f'.repeat(64)], ['', '0'.repeat(15), '0'.repeat(65), 'xyz']],
  ])('of the kind "%s" takes what it may be and names what it may not', (noun, make, good, bad) => {
    for (const text of good) expect(make(text)).toBe(text);
    for (const text of [...bad, ...good.map((one) => `${one}\n`)])
      expect(() => make(text)).toThrow(`${JSON.stringify(text)} is not ${noun}`);
  });
});

describe('a DNS label', () => {
  it('is lower-case letters, digits and inner dashes, 1 to 63 of them, and nothing else', () => {
    const nearly = fc.stringMatching(/^[a-z0-9-]{0,66}$/);
    const anything = fc.string({ unit: 'binary', maxLength: 66 });
    fc.assert(
      fc.property(fc.oneof(nearly, anything), (text) => {
        const letters = text.split('').every((letter) => 'abcdefghijklmnopqrstuvwxyz0123456789-'.includes(letter));
        const ends = !text.startsWith('-') && !text.endsWith('-');
        expect(dnsLabel.test(text)).toBe(letters && ends && text.length >= 1 && text.length <= 63);
      }),
      { numRuns: 1000 },
    );
  });
});
