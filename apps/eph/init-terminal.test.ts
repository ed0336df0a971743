import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect, it } from 'vitest';
import { describeWith } from '../../test/parts/describe-with.ts';
import { script } from '../../test/parts/script.ts';
import { makeFolder } from './init/folder.fake.ts';

describeWith(script, 'init on a real terminal', () => {
  const startInit = (folder: string) => {
    const eph = [process.execPath, join(import.meta.dirname, 'main.ts'), 'init'].map((word) => `'${word}'`).join(' ');
    const finding = script.find();
    const terminal = spawn(finding.found ? finding.where : '', ['-qefc', `stty cols 120 rows 40; exec ${eph}`, '/dev/null'], {
      cwd: folder,
      env: { PATH: process.env['PATH'], TERM: 'xterm', XDG_CACHE_HOME: folder },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    let screen = '';
    terminal.stdout.on('data', (chunk) => {
      screen += String(chunk);
    });
    const type = async (afterText: string, keys: string): Promise<void> => {
      await expect.poll(() => stripVTControlCharacters(screen), { timeout: 30_000 }).toContain(afterText);
      terminal.stdin.write(keys);
    };
    const ended = once(terminal, 'exit').then(([code]) => code as number);
    return { type, ended, [Symbol.dispose]: () => void terminal.kill('SIGKILL') };
  };

  it('asks, and writes the answers', async () => {
    await using folder = await makeFolder({ '.git/config': '', 'package.json': '{"scripts":{"start":"node x"}}' });
    using init = startInit(folder.path);
    await init.type('name of the project', '-two\r');
    await init.type('path answers', '/healthz\r');
    await init.type('Which branches', '\r');
    await init.type('Write this', '\r');
    expect(await init.ended).toBe(0);
    const text = await readFile(join(folder.path, 'eph.yaml'), 'utf8');
    expect(text).toContain('name: shop-two\n');
    expect(text).toContain('http: "/healthz"');
  }, 120_000);

  it('ends with Ctrl-C and leaves nothing behind', async () => {
    await using folder = await makeFolder({ '.git/config': '' });
    using init = startInit(folder.path);
    await init.type('name of the project', '\x03');
    await init.type('Cancelled.', '');
    expect(await init.ended).toBe(1);
    await expect(readFile(join(folder.path, 'eph.yaml'), 'utf8')).rejects.toThrow('ENOENT');
  }, 120_000);
});
