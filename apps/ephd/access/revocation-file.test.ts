import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeRevocationStore, tokenRevocation } from '@eph/engine/access/revocation-store.contract';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { RevocationFile } from './revocation-file.ts';

vi.setConfig({ testTimeout: 120_000 });

const createPath = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'eph-revocations-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return join(folder, 'access', 'revocations.json');
};

const open = (path: string): RevocationFile => new RevocationFile(path, Date.now);

describe('a file of revocations', () => {
  describeRevocationStore(async () => {
    const path = await createPath();
    return {
      keeps: 'last generation',
      open: () => open(path),
      lose: () => rm(path),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  });

  it('can be read by its user only', async () => {
    const path = await createPath();
    await open(path).add({ generation: 'one', revocations: [] });
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readdir(join(path, '..'))).toEqual(['revocations.json']);
  });

  it.each([
    '',
    '{',
    'null',
    '[]',
    '{"generation":"one"}',
    '{"generation":"","revocations":[]}',
    '{"generation":"a","revocations":[{}]}',
  ])('is damaged where it is %j, and stays as it is until it is deleted', async (content) => {
    const path = await createPath();
    await open(path).add({ generation: 'one', revocations: [] });
    await writeFile(path, content);
    const store = open(path);
    await expect(store.read()).rejects.toThrow(/is damaged; all tokens are refused until it is deleted/);
    await expect(store.add({ generation: 'two', revocations: [] })).rejects.toThrow(/is damaged/);
    expect(await readFile(path, 'utf8')).toBe(content);
    await rm(path);
    expect(await store.add({ generation: 'two', revocations: [] })).toBe('two');
  });

  it.each([
    ['damaged', (path: string) => writeFile(path, '{')],
    ['deleted', (path: string) => rm(path)],
  ])('that is %s later is written again in full by the ephd that had read it', async (_, harm) => {
    const path = await createPath();
    const store = open(path);
    await store.add({ generation: 'one', revocations: [tokenRevocation('a')] });
    await harm(path);
    await store.add({ generation: 'one', revocations: [tokenRevocation('b')] });
    expect((await open(path).read())?.revocations).toEqual([tokenRevocation('a'), tokenRevocation('b')]);
  });

  it('is not written if there is nothing new', async () => {
    const path = await createPath();
    const given = { generation: 'one', revocations: [tokenRevocation('a')] };
    await open(path).add(given);
    const { ino } = await stat(path);
    await open(path).add(given);
    expect((await stat(path)).ino).toBe(ino);
  });
});

describe('kill -9 while a token is revoked', () => {
  /** Revokes in a process of its own, which kills itself before or after a step of its work with files. */
  const revoke = (path: string, killAt: number): readonly string[] => {
    const source = `
      import fs from 'node:fs';
      import { syncBuiltinESMExports } from 'node:module';
      let step = 0;
      const pass = (name) => {
        step += 1;
        fs.writeSync(1, name + '\\n');
        if (step === ${killAt}) process.kill(process.pid, 'SIGKILL');
      };
      const wrap = (owner, name) => {
        const original = owner[name];
        owner[name] = async function (...args) {
          pass('before ' + name);
          const result = await original.apply(this, args);
          pass('after ' + name);
          return result;
        };
      };
      const any = await fs.promises.open('/dev/null');
      for (const name of ['writeFile', 'sync']) wrap(Object.getPrototypeOf(any), name);
      await any.close();
      for (const name of ['open', 'rename']) wrap(fs.promises, name);
      syncBuiltinESMExports();
      const { RevocationFile } = await import(${JSON.stringify(join(import.meta.dirname, 'revocation-file.ts'))});
      const store = new RevocationFile(${JSON.stringify(path)}, Date.now);
      await store.add({ generation: 'one', revocations: [${JSON.stringify(tokenRevocation('new'))}] });
      fs.writeSync(1, 'answered\\n');
    `;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', source], { encoding: 'utf8' });
    expect(stderr).toBe('');
    return stdout.trim().split('\n');
  };

  it('leaves a file that is whole, and loses no revocation that was answered', async () => {
    const outcomes: string[] = [];
    while (outcomes.length < 50 && outcomes.at(-1)?.startsWith('answered') !== true) {
      const path = await createPath();
      await open(path).add({ generation: 'one', revocations: [tokenRevocation('old')] });
      const lines = revoke(path, outcomes.length + 1);
      const subjects = (await open(path).read())?.revocations.map(({ subject }) => subject);
      outcomes.push(`${lines.at(-1)}: ${subjects?.join(', ')}`);
      // What a kill has left behind is in nobody's way.
      await open(path).add({ generation: 'one', revocations: [tokenRevocation('later')] });
      expect(await readdir(join(path, '..'))).toEqual(['revocations.json']);
    }
    expect(outcomes).toEqual([
      'before open: old',
      'after open: old',
      'before writeFile: old',
      'after writeFile: old',
      'before sync: old',
      'after sync: old',
      'before rename: old',
      'after rename: old, new',
      'before open: old, new',
      'after open: old, new',
      'before sync: old, new',
      'after sync: old, new',
      'answered: old, new',
    ]);
  });
});
