import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parsePerson, personText, printPerson } from './person.ts';

describe('a person', () => {
  it.each([
    ['https://id.example.com#4711', { issuer: 'https://id.example.com', subject: '4711' }],
    ['eph#ci of the shop', { issuer: 'eph', subject: 'ci of the shop' }],
    ['https://id.example.com#auth0|7#8', { issuer: 'https://id.example.com', subject: 'auth0|7#8' }],
  ])('is written as %s', (text, person) => {
    expect(parsePerson(text)).toEqual(person);
    expect(printPerson(person)).toBe(text);
    expect(personText.safeParse(text).success).toBe(true);
  });

  it.each([
    '',
    '#',
    'eph#',
    '#4711',
    'ann@example.com',
    'e ph#1',
    'eph# 1',
    'eph#1\n',
    'eph#1\u00002',
    'eph#1\u0000',
    'e\u0007ph#1',
    `eph#${'x'.repeat(600)}`,
  ])('is not %j', (text) => {
    expect(parsePerson(text)).toBeUndefined();
    expect(personText.safeParse(text).success).toBe(false);
  });

  it('has an issuer without #', () => {
    expect(() => printPerson({ issuer: 'a#b', subject: 'c' })).toThrow('"a#b" is not an issuer: it contains a #');
  });

  it('is never mistaken for another one', () => {
    const text = fc.string({ unit: fc.constantFrom('a', ':', ' ', '/', 'é'), minLength: 1 });
    fc.assert(
      fc.property(text, text, (issuer, subject) => {
        const parsed = parsePerson(printPerson({ issuer, subject: `#${subject}` }));
        fc.pre(parsed !== undefined);
        expect(parsed).toEqual({ issuer, subject: `#${subject}` });
      }),
    );
  });
});
