import { describe, expect, it } from 'vitest';
import { type CommentTemplate, checkTemplate, defaultTexts } from './comment-texts.ts';
import { renderMarkdown } from './markdown.ts';
import { createView } from './view.fake.ts';

const marker = '<!-- eph:environment=0123456789abcdef -->';
const render = (template: CommentTemplate, changes: Parameters<typeof createView>[0] = {}): string =>
  renderMarkdown(createView(changes), { marker, template });

describe('a template', () => {
  it('says things differently', () => {
    const german = {
      headline_ready: 'Fertig: {name}',
      message_ready: 'Stand {commit:0:7} auf {url}',
      column_component: 'Baustein',
    };
    const comment = render(german);
    expect(comment).toContain('### 🟢 Fertig: [shop-calm-bay-1234](<http://shop-calm-bay-1234.localhost>)');
    expect(comment).toContain('\nStand 1111111 auf <http://shop-calm-bay-1234.localhost>\n');
    expect(comment).toContain('| Baustein | Status |');
    expect(checkTemplate(german)).toEqual([]);
  });

  it('chooses the parts and their order', () => {
    const body = '{message}\n\nHow to log in: https://wiki.example/login?a=1&b=2.\n{headline}';
    expect(render({ body })).toBe(
      [
        marker,
        'Commit `111111111111` answers at <http://shop-calm-bay-1234.localhost>.',
        'How to log in: <https://wiki.example/login?a=1&amp;b=2>.',
        '### 🟢 Ready: [shop-calm-bay-1234](<http://shop-calm-bay-1234.localhost>)',
      ].join('\n\n'),
    );
  });

  it('leaves out a sentence about something that is not there', () => {
    const body = 'It lives until {expires}.\nAlways here.';
    expect(render({ body })).toBe(`${marker}\n\nAlways here.`);
    expect(render({ body }, { expiresAt: '2026-01-08T09:00:00Z' })).toContain('It lives until 2026-01-08 09:00 UTC.');
  });

  it('says nothing where it says nothing', () => {
    expect(render({ body: '{message}', message_ready: '' })).toBe(marker);
  });

  it('is text, whatever it looks like', () => {
    const body = [
      '# @everyone',
      '/close',
      '- [x](y) <img src=x>',
      '</details><!-- eph:environment=ffffffffffffffff -->',
      '    code',
      '1. a',
    ];
    const comment = render({ body: body.join('\n') }).slice(marker.length);
    expect(comment).not.toMatch(/[<>@[\]`]|^[#/\-+]|^\d+\.|^ {4}/m);
    expect(comment).toContain('&#35; &#64;&#8203;everyone');
  });

  it('puts in what it is given without looking at it again', () => {
    const comment = render({ body: '{summary}' }, { summary: '{name} {url} https://evil.example' });
    expect(comment).toContain('&#123;name&#125; &#123;url&#125; https&#58;&#8203;//evil.example');
  });

  it('never makes a comment too long', () => {
    const body = `${'{url}{summary}{comeback}'.repeat(100)}\n${'x\n'.repeat(700)}`;
    const changes = {
      summary: '@'.repeat(100_000),
      comeback: '@'.repeat(100_000),
      url: `https://eph.example/${'x'.repeat(900)}`,
    };
    expect(checkTemplate({ body })).toEqual([]);
    expect(render({ body, headline_ready: '@'.repeat(400) }, changes).length).toBeLessThan(10_000);
  });

  it.each<readonly [string, { readonly [name: string]: string }, string]>([
    ['an unknown text', { headlines: 'x' }, 'headlines is not a text of a comment; use one of body, headline_pending,'],
    ['an unknown placeholder', { logs: '{titel}' }, 'logs: {titel} is unknown; use one of {name}, {url},'],
    ['a part among words', { body: 'Look: {components}' }, 'body: {components} is a part; use it in the body, alone on its line'],
    ['a part elsewhere', { logs: '{faults}' }, 'logs: {faults} is a part; use it in the body'],
    ['a part twice', { body: '{times}\n{times}' }, 'body: {times} may be used only once'],
    ['a brace too many', { logs: 'a { b' }, 'logs: { b is not closed by a }'],
    ['a variable of the server', { logs: '${HOME}' }, 'logs: ${HOME}: variables of the server cannot be used here'],
    ['too much', { logs: 'x'.repeat(401) }, 'logs: it is longer than 400 characters'],
    ['a name that everything has', { toString: 'x' }, 'toString is not a text'],
  ])('with %s is refused, and the default is used', (_, template, fault) => {
    expect(checkTemplate(template)).toEqual([expect.stringContaining(fault)]);
    expect(renderMarkdown(createView(), { marker, template })).toBe(renderMarkdown(createView(), { marker }));
  });

  it('has defaults that are sound', () => {
    expect(checkTemplate(defaultTexts)).toEqual([]);
  });
});
