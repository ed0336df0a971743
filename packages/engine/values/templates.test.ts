import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { renderTemplate } from './templates.ts';

const variables = { project: 'shop', words: 'serene-ocean', number: '4207', ref_name: '$& {words} $1' };

describe('a template', () => {
  it.each([
    ['{project}-{words}-{number}', 'shop-serene-ocean-4207'],
    ['plain', 'plain'],
    ['{project}{project}', 'shopshop'],
    ['{ref_name}', '$& {words} $1'],
    ['}{ {', '}{ {'],
    ['{{project}}', '{shop}'],
    ['', ''],
  ])('%j becomes %j', (template, text) => {
    expect(renderTemplate(template, variables)).toBe(text);
  });

  it.each(['branch', '', 'Project', ' project', 'toString', '__proto__'])(
    'with {%s} is refused, naming what is allowed',
    (name) => {
      const message = `{${name}} is unknown; allowed: {project}, {words}, {number}, {ref_name}`;
      expect(() => renderTemplate(`x-{${name}}`, variables)).toThrow(
        expect.objectContaining({ code: 'spec.invalid', message: expect.stringContaining(message) }),
      );
    },
  );

  it('without braces is text, whatever it holds', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const plain = text.replaceAll(/[{}]/g, '');
        expect(renderTemplate(plain, variables)).toBe(plain);
      }),
    );
  });
});
