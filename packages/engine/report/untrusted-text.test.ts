import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inlineText, link, linkedAddress, preformatted } from './untrusted-text.ts';

/** What a reader sees of escaped text. */
const read = (escaped: string): string =>
  escaped
    .replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
    .replaceAll('\u200b', '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');

/** Printable text out of everything that means something to somebody. */
const hostile = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '@',
        '#',
        '!',
        '`',
        '```',
        '~~~',
        '<',
        '>',
        '&',
        '|',
        '*',
        '_',
        '[',
        ']',
        '(',
        ')',
        '\\',
        '/',
        ':',
        '$',
        '%',
        '^',
        '-',
        '1.',
      ),
      fc.constantFrom(
        'everyone',
        '12',
        'www.',
        'http://',
        'GH-1',
        ':100:',
        '<!--',
        '-->',
        '</pre>',
        '&lt;',
        '&#64;',
        ';',
        '🚢',
        'ä',
        ' ',
      ),
    ),
    { maxLength: 40 },
  )
  .map((pieces) => pieces.join(''));

describe('an untrusted line', () => {
  it('is read as it was written, and means nothing', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const escaped = inlineText(text, 10_000);
        expect(read(escaped)).toBe(text.trim().replaceAll(/\s+/g, ' '));
        expect(escaped).not.toMatch(/[\\`*_{}[\]<>|~@$^]|&(?!#\d+;|lt;|gt;|amp;)|#(?!\d+;)|^[-+=/:]|^\d+[.)]/);
      }),
    );
  });

  it.each([
    ['people', '@everyone', '@​everyone'],
    ['an address of mail', 'me@example.com', 'me@​example.com'],
    ['an issue', 'fixes #12', 'fixes #​12'],
    ['an issue of another repository', 'eph/eph#12', 'eph/eph#​12'],
    ['an issue by its old name', 'gh-12', 'gh-​12'],
    ['a merge request', 'see !12', 'see !​12'],
    ['a label of GitLab', '~"to do"', '~​"to do"'],
    ['an address', 'https://evil.example', 'https:​//evil.example'],
    ['an address without a scheme', 'www.evil.example', 'www​.evil.example'],
    ['an emoji', 'eph.yaml:100:5', 'eph.yaml:​100:5'],
  ])('does not let a forge find %s', (_, text, shown) => {
    const rendered = inlineText(text, 1_000).replaceAll(/&#(\d+);/g, (_entity, code: string) =>
      String.fromCharCode(Number(code)),
    );
    expect(rendered).toBe(shown);
  });

  it.each([
    ['lines', 'a\r\nb\rc\u2028d\n\n\ne', 'a b c d e'],
    ['colours', '\u001b[1;31mred\u001b[0m', 'red'],
    ['another direction', 'a\u202eb\u2066c\u200fd', 'a\ufffdb\ufffdc\ufffdd'],
    ['unseen characters', 'a\u0000b\u0007c\u200bd\ufeffe\u{e0041}f', 'a\ufffdb\ufffdc\ufffdd\ufffde\ufffdf'],
    ['half characters', 'a\ud83db', 'a\ufffdb'],
    ['joined emoji', '👩\u200d🚀', '👩\u200d🚀'],
  ])('has no %s', (_, text, shown) => {
    expect(inlineText(text, 1_000)).toBe(shown);
  });

  it('is cut between characters', () => {
    fc.assert(
      fc.property(hostile, fc.integer({ min: 20, max: 60 }), (text, limit) => {
        const [whole, cut] = [inlineText(text, 10_000), inlineText(text, limit)];
        expect(cut.length).toBeLessThanOrEqual(limit);
        expect(cut).toBe(cut === whole ? whole : `${whole.slice(0, cut.length - 1)}…`);
        expect(cut).not.toMatch(/&[^;]*$|[\ud800-\udbff]…/);
      }),
    );
  });
});

describe('untrusted output', () => {
  it('is read as it was written, and nothing in it is found by a search', () => {
    fc.assert(
      fc.property(fc.array(hostile), (lines) => {
        const text = lines.join('\n');
        const escaped = preformatted(text, 100_000);
        expect(read(escaped)).toBe(text);
        expect(escaped).not.toMatch(/[<>@`]|^\s*\//m);
      }),
    );
  });

  it('keeps how it begins and how it ends', () => {
    const text = `npm start\n${'<@`&>'.repeat(200_000)}\nError: no such table`;
    const escaped = preformatted(text, 2_000);
    expect(escaped.length).toBeLessThanOrEqual(2_000);
    expect(escaped.length).toBeGreaterThan(1_900);
    expect(escaped).toMatch(/^npm start\n[^]+left out[^]+\nError: no such table$/);
    expect(escaped).not.toMatch(/&(?!#\d+;|lt;|gt;|amp;)/);
  });

  it('is no command where it is cut', () => {
    for (let shift = 0; shift < 12; shift += 1) {
      const escaped = preformatted(`${' '.repeat(shift)}${'x /merge '.repeat(1_000)}`, 500);
      expect(escaped).not.toMatch(/^\s*\//m);
    }
  });

  it.each([
    ['spaces', ' '],
    ['lines', '\n'],
    ['slashes', '/'],
    ['colours', '\u001b[1;'],
    ['titles of windows', '\u001b]0;'],
    ['colons', ':a'],
    ['digits', '1'],
  ])('takes no time, even a megabyte of %s', (_, piece) => {
    const text = piece.repeat(1_000_000 / piece.length);
    expect(preformatted(text, 10_000).length).toBeLessThanOrEqual(10_000);
    expect(inlineText(text, 10_000).length).toBeLessThanOrEqual(10_000);
  });
});

describe('a link', () => {
  it.each([
    ['https://eph.example/logs?a=1&b=2#c', '<https://eph.example/logs?a=1&amp;b=2#c>'],
    ['http://[::1]:8080/', '<http://[::1]:8080>'],
    ['https://eph.example/a b"(c)|`<d>@e', '<https://eph.example/a%20b%22%28c%29%7C%60%3Cd%3E%40e>'],
    ['https://bücher.example/ä', '<https://xn--bcher-kva.example/%C3%A4>'],
  ])('leads to %s', (address, markdown) => {
    expect(linkedAddress(address)).toBe(markdown);
    expect(link('Logs', address)).toBe(`[Logs](${markdown})`);
  });

  it.each([
    'javascript:alert(1)',
    'data:text/html,x',
    'https://user:word@eph.example',
    'nowhere',
    'https://eph`).example',
    `https://eph.example/${'ä'.repeat(500)}`,
  ])('does not lead to %s', (address) => {
    expect(link('Logs', address)).toBe('Logs');
    expect(linkedAddress(address)).not.toMatch(/[<>@]/);
  });
});
