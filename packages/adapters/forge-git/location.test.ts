import { redact } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { type Location, parseLocation } from './location.ts';

describe('the location of a project', () => {
  it.each([
    ['/srv/git/shop.git', '/srv/git/shop.git'],
    ['/srv/git/../shop', '/srv/shop'],
    ['/srv/a:b', '/srv/a:b'],
    [`${process.cwd()}/shop`, `${process.cwd()}/shop`],
    ['./shop', `${process.cwd()}/shop`],
    ['./--upload-pack=x:y', `${process.cwd()}/--upload-pack=x:y`],
  ])('%s is a path', (text, path) => {
    expect(parseLocation(text)).toEqual({ kind: 'path', path, shown: path });
  });

  it.each([
    'https://example.org/shop.git',
    'http://example.org:8080/shop',
    'ssh://git@example.org/shop',
    'git@example.org:team/shop.git',
    'git://example.org/shop',
    'file:///srv/git/shop.git',
  ])('%s is an address', (url) => {
    expect(parseLocation(url)).toEqual({ kind: 'url', url, shown: expect.any(String) });
  });

  it.each(['', 'ext::sh -c id', 'fd::7', 'EXT::x', 'hg::http://x/y', 'javascript://x', 'ftp://example.org/x', 'http://', 'a\0b'])(
    'refuses %j with a sentence',
    (text) => {
      expect(() => parseLocation(text)).toThrow(
        expect.objectContaining({ code: 'config.invalid', message: expect.stringContaining('cannot be a project') }),
      );
    },
  );

  it('keeps credentials out of the address, of what is shown, and of every message from then on', async () => {
    const location = parseLocation('https://robot:s%3Acret-pa%25ss@example.org:8443/shop.git');
    const basic = Buffer.from('robot:s:cret-pa%ss').toString('base64');
    expect(location).toMatchObject({
      kind: 'url',
      url: 'https://example.org:8443/shop.git',
      shown: 'https://***@example.org:8443/shop.git',
    });
    expect(await readAuthorization(location)).toBe(`Basic ${basic}`);
    expect(redact(`seen: s:cret-pa%ss ${basic}`)).toBe('seen: *** ***');
  });

  it('takes a lone user name for a token', async () => {
    const location = parseLocation('https://token-0123456789@example.org/shop.git');
    expect(location).toMatchObject({ url: 'https://example.org/shop.git' });
    expect(await readAuthorization(location)).toBe(`Basic ${Buffer.from('token-0123456789:').toString('base64')}`);
    expect(redact('token-0123456789')).toBe('***');
  });
});

const readAuthorization = async (location: Location): Promise<string | undefined> =>
  location.kind === 'url' ? await location.authorization?.() : undefined;
