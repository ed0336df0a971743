import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeFolder } from './folder.fake.ts';
import { readRepository } from './project-name.ts';

const withRemote = (url: string): string =>
  `[core]\n\tbare = false\n[remote "up"]\n\turl = https://x/y\n[remote "origin"]\n\turl = ${url}\n\tfetch = +x\n[branch "main"]\n`;

describe('the name of a project', () => {
  it.each([
    ['git@git.example.com:team/My_Shop.git', 'my-shop'],
    ['https://ann:secret@git.example.com/team/blog/', 'blog'],
    ['/srv/git/store.git', 'store'],
    ['https://git.example.com/', 'git-example-com'],
    ['...', 'shop'],
  ])('of a repository that is pushed to %s is %s', async (url, name) => {
    await using folder = await makeFolder({ '.git/config': withRemote(url) });
    expect(await readRepository(folder.path)).toStrictEqual({ root: folder.path, name });
  });

  it('is otherwise that of the folder of the repository', async () => {
    await using folder = await makeFolder({ '.git/config': '[core]\n', 'deep/below/file': '' });
    expect(await readRepository(join(folder.path, 'deep/below'))).toStrictEqual({ root: folder.path, name: 'shop' });
    await rm(join(folder.path, '.git'), { recursive: true });
    expect(await readRepository(join(folder.path, 'deep'))).toStrictEqual({ root: undefined, name: 'deep' });
  });

  it('is a name in any case', async () => {
    await using folder = await makeFolder({});
    const odd = join(folder.path, '!!!');
    await mkdir(odd);
    expect((await readRepository(odd)).name).toBe('app');
    await rename(odd, join(folder.path, '店'));
    expect((await readRepository(join(folder.path, '店'))).name).toMatch(/^x-[0-9a-z]+$/);
  });
});
