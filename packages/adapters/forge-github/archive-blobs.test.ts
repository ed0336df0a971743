import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createArchiveReader } from './archive-blobs.ts';

const longName = `${'deep/'.repeat(40)}${'n'.repeat(120)}.txt`;
const contents = ['', 'a', 'x'.repeat(512), 'y'.repeat(513), 'ü'.repeat(10_000), 'short-target', 'under a long name'];
const idOf = (text: string): string =>
  createHash('sha1')
    .update(`blob ${Buffer.byteLength(text)}\0${text}`)
    .digest('hex');

let folder: string;
let archive: Buffer;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'eph-archive-'));
  for (const [index, text] of contents.slice(0, 5).entries()) await writeFile(join(folder, `${index}.txt`), text);
  await symlink('short-target', join(folder, 'link'));
  await symlink('far/'.repeat(60), join(folder, 'far-link'));
  await mkdir(join(folder, longName, '..'), { recursive: true });
  await writeFile(join(folder, longName), 'under a long name');
  const options = { encoding: 'buffer', maxBuffer: 10_000_000 } as const;
  archive = (await promisify(execFile)('tar', ['--format=pax', '-cf', '-', '-C', folder, '.'], options)).stdout;
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const read = (pieceBytes: number, bytes = archive) => {
  const reader = createArchiveReader('sha1');
  for (let at = 0; at < bytes.length; at += pieceBytes) reader.add(bytes.subarray(at, at + pieceBytes));
  return reader.end();
};

describe('an archive', () => {
  it.each([1, 511, 512, 513, 4_096, 10_000_000])('holds every content under its id, in pieces of %i bytes', (pieceBytes) => {
    const places = read(pieceBytes);
    for (const text of contents) {
      const { offset, size } = places.get(idOf(text)) ?? { offset: -1, size: -1 };
      expect(archive.toString('utf8', offset, offset + size)).toBe(text);
    }
    expect(places.size).toBe(contents.length + 1);
  });

  it('is refused when it ends early, wherever that is', () => {
    const end = archive.findLastIndex((byte) => byte !== 0);
    for (const length of [0, 1, 512, 700, 5_000, end]) expect(() => read(512, archive.subarray(0, length))).toThrow(/ends early/);
  });

  it('is refused when a header is damaged', () => {
    const damaged = Buffer.from(archive);
    damaged[130] = 0x37;
    expect(() => read(512, damaged)).toThrow(expect.objectContaining({ code: 'forge.incomplete' }));
    expect(() => read(512, Buffer.from('<html>not an archive</html>'.repeat(100)))).toThrow(/cannot be used/);
  });
});
