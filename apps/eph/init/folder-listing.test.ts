import { execFileSync } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeFolder } from './folder.fake.ts';
import { listFolder } from './folder-listing.ts';

describe('a folder listing', () => {
  it('has files near the root first, without generated ones', async () => {
    await using folder = await makeFolder({
      'z.txt': '',
      'a/b.txt': '',
      'node_modules/x/package.json': '',
      'vendor/x.go': '',
      'dist/index.html': '',
      '.git/config': '',
      '.github/workflows/ci.yaml': '',
    });
    expect(await listFolder(folder.path)).toMatchObject({ files: ['z.txt', 'a/b.txt'], cut: false });
  });

  it('is four levels deep and says when there is more', async () => {
    await using folder = await makeFolder({ '1/2/3/file': '' });
    expect(await listFolder(folder.path)).toMatchObject({ files: ['1/2/3/file'], cut: false });
    await mkdir(join(folder.path, '1/2/3/4'));
    expect(await listFolder(folder.path)).toMatchObject({ files: ['1/2/3/file'], cut: true });
  });

  it('stops after five thousand entries', async () => {
    const files = Array.from({ length: 5_100 }, (_, index) => [`many/${index}`, ''] as const);
    await using folder = await makeFolder({ ...Object.fromEntries(files), 'z/late': '' });
    const listing = await listFolder(folder.path);
    expect(listing.files.length).toBeLessThan(5_000);
    expect(listing.files).not.toContain('z/late');
    expect(listing.cut).toBe(true);
  });

  it('follows no links and opens nothing that is not a file', async () => {
    await using folder = await makeFolder({ 'real/package.json': '{}' });
    await symlink('/', join(folder.path, 'root'));
    await symlink(folder.path, join(folder.path, 'real', 'again'));
    await symlink('package.json', join(folder.path, 'real', 'link.json'));
    execFileSync('/usr/bin/mkfifo', [join(folder.path, 'Procfile')]);
    const listing = await listFolder(folder.path);
    expect(listing.files).toStrictEqual(['real/package.json']);
    // It became a pipe after it was listed; reading it must not block.
    expect(await listing.read('Procfile')).toBe('');
    expect(await listing.read('real/link.json')).toBe('');
  });

  it('leaves out names with a meaning to a shell or a terminal', async () => {
    await using folder = await makeFolder({
      'ok name.txt': '',
      'größe/店.txt': '',
      '$(reboot)/package.json': '',
      'a\nb': '',
      '-rf': '',
      '\u001b[2J': '',
      'a;b/Dockerfile': '',
      '${X}': '',
    });
    expect((await listFolder(folder.path)).files).toStrictEqual(['ok name.txt', 'größe/店.txt']);
  });

  it('reads the beginning of a file, and nothing of one that is not there', async () => {
    await using folder = await makeFolder({ large: 'x'.repeat(1_000_000) });
    const listing = await listFolder(folder.path);
    expect(await listing.read('large')).toHaveLength(64 * 1024);
    expect(await listing.read('absent')).toBe('');
    await writeFile(join(folder.path, 'bytes'), Buffer.from([0xff, 0xfe]));
    expect(await listing.read('bytes')).toBe('\ufffd\ufffd');
  });

  it('of a folder that is not there is empty', async () => {
    expect(await listFolder('/nowhere/at/all')).toMatchObject({ files: [], cut: false });
  });
});
