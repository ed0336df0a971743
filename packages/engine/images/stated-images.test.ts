import type { Command } from '@eph/contract';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createWantedImage, firstCommit } from './image-request.fake.ts';
import { findInChecks, findInCommand, findStated, findUnused } from './stated-images.ts';

const api = createWantedImage();
const oneOfMany = createWantedImage({ isOnly: false });
const digest = `sha256:${'a'.repeat(64)}`;
const command = (text: string): Command => ({ id: '1', text, author: 'alice', mayWrite: true, at: '', commit: firstCommit });

describe('lines about images', () => {
  it.each([
    ['eph-images: api=registry.example/acme/api:7', 'registry.example/acme/api:7'],
    ['eph-images: web=ghcr.io/acme/web:7, api=ghcr.io/acme/other:8', 'ghcr.io/acme/other:8'],
    ['Built by CI\r\n\r\n  eph-images:api=redis:7\r\nthanks', 'redis:7'],
    ['eph-image: registry.example/acme/api:7', 'registry.example/acme/api:7'],
    [`eph-image: registry.example/acme/api@${digest}`, `registry.example/acme/api@${digest}`],
    ['eph-images: api=redis:6\neph-images: api=redis:7', 'redis:7'],
  ])('name it: %j', (text, named) => {
    expect(findStated(text, api)).toMatchObject({ state: 'image', text: named });
  });

  it.each([
    '',
    'eph-images: web=redis:7',
    'eph-images: redis:7',
    'the image is eph-images: api=redis:7',
    'eph-imagess: api=redis:7',
    `${'x'.repeat(64 * 1024)}\neph-images: api=redis:7`,
  ])('say nothing about it: %j', (text) => {
    expect(findStated(text.slice(0, 70_000), api)).toBeUndefined();
  });

  it('without a name mean the entry with that repository, or the only one', () => {
    expect(findStated('eph-image: ghcr.io/acme/other:7', api)).toMatchObject({ state: 'image' });
    expect(findStated('eph-image: ghcr.io/acme/other:7', oneOfMany)).toBeUndefined();
    expect(findStated('eph-image: registry.example/acme/api:7', oneOfMany)).toMatchObject({ state: 'image' });
  });

  it.each([
    ['eph-images: api=', '""'],
    ['eph-images: api=registry.example/acme/api', 'registry.example/acme/api'],
    ['eph-images: api=../../etc:1', '../../etc:1'],
    ['eph-images: api=redis:\u0007\u001b[31m', '"redis:\\u0007\\u001b[31m"'],
    ['eph-images: api=größe:1', '"größe:1"'],
    [`eph-images: api=redis:${'x'.repeat(129)}`, expect.stringContaining('xxx')],
  ])('that name no image with a tag are shown on one line: %j', (text, shown) => {
    expect(findStated(text, api)).toEqual({ state: 'unclear', text: shown });
  });

  it('are read from any text without harm', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 500 }), (text) => {
        const stated = findStated(`eph-images: api=${text}`, api);
        expect(stated?.text ?? '').not.toMatch(/\p{Cc}/u);
      }),
    );
  });
});

describe('checks', () => {
  it('count once they have succeeded', () => {
    const check = { name: 'build', state: 'success', text: 'eph-image: redis:7' } as const;
    expect(
      findInChecks(
        [
          { ...check, state: 'pending' },
          { ...check, name: 'image' },
        ],
        api,
      ),
    ).toMatchObject({ check: 'image' });
    expect(findInChecks([{ ...check, state: 'failure' }], api)).toBeUndefined();
  });
});

describe('a comment', () => {
  it.each([
    ['/deploy --image=redis:7', 'redis:7'],
    ['/deploy --image=web=redis:6 --image=api=redis:7', 'redis:7'],
    ['/deploy', undefined],
    ['/deploy --images=api=redis:7', undefined],
  ])('%j names %j', (text, named) => {
    expect(findInCommand(command(text), api)?.text).toBe(named);
  });

  it('may name what nothing runs', () => {
    const asked = command('/deploy --image=web=redis:6 --image=api=redis:7 --image=ghcr.io/acme/x:1');
    expect(findUnused(asked, [oneOfMany])).toEqual(['web=redis:6', 'ghcr.io/acme/x:1']);
    expect(findUnused(asked, [{ ...oneOfMany, fixed: '7' }])).toContain('api=redis:7');
  });
});
