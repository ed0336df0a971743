import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { until } from './process-harness.fake.ts';
import type { Sandbox } from './sandbox.ts';
import { deniedCalls } from './seccomp.ts';
import { createProcesses } from './this-machine.ts';

interface Result {
  readonly code: number | null;
  readonly output: string;
}

/** A checkout, a HOME, and beside them what a service must not reach. */
const start = (sandbox: Sandbox) => {
  const outer = mkdtempSync(join(tmpdir(), 'eph-sandbox-'));
  onTestFinished(() => rmSync(outer, { recursive: true, force: true }));
  const [tree, home, secret] = [join(outer, 'tree'), join(outer, 'home'), join(outer, 'secret.txt')];
  for (const folder of [tree, home, join(tree, 'inner')]) mkdirSync(folder);
  writeFileSync(secret, 'the data folder');

  const launch = (script: string, variables: Readonly<Record<string, string>> = {}, directory = '.') => {
    const confined = sandbox.confine({
      words: ['sh', '-c', script],
      tree,
      directory,
      home,
      variables: { PATH: '/usr/bin:/bin', OWN: 'its own', ...variables },
    });
    const { files, words, folder } = confined;
    // As the provider starts it: under a process of its own session.
    const child = spawn('/bin/sh', ['-c', '"$@"; exit $?', 'sh', ...words], {
      cwd: folder,
      env: confined.variables,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', 'ignore', ...files],
    });
    for (const file of files) closeSync(file);
    onTestFinished(() => void child.kill('SIGKILL'));
    return child;
  };

  const run = async (script: string, variables: Readonly<Record<string, string>> = {}, directory = '.'): Promise<Result> => {
    const child = launch(script, variables, directory);
    const { stdout, stderr } = child;
    if (stdout === null || stderr === null) throw new Error('the command has no output');
    const [out, err] = await Promise.all([text(stdout), text(stderr), once(child, 'close')]);
    return { code: child.exitCode, output: out + err };
  };

  return { outer, tree, home, secret, launch, run };
};

/** What every sandbox has to hold back. Each attack is what a labelled pull request can contain. */
export const describeSandbox = (create: () => Sandbox): void => {
  describe('a command', () => {
    it('runs in its checkout, with its variables and a HOME of its own, and its exit code arrives', async () => {
      const { tree, home, run } = start(create());
      const result = await run('pwd; echo "$OWN"; echo kept > ../here; echo warm > "$HOME/cache"; exit 3', {}, 'inner');
      expect(result).toEqual({ code: 3, output: '/app/inner\nits own\n' });
      expect(readFileSync(join(tree, 'here'), 'utf8')).toBe('kept\n');
      expect(readFileSync(join(home, 'cache'), 'utf8')).toBe('warm\n');
    });

    it('can use programs of the machine, and the Node that runs ephd', async () => {
      const { run } = start(create());
      expect(await run(`'${process.execPath}' -p 1+1 && date > /tmp/now && test -s /tmp/now && ls /dev/shm`)).toEqual({
        code: 0,
        output: '2\n',
      });
    });

    it('answers visitors from outside, and resolves names', async () => {
      const { run } = start(create());
      expect((await run('getent hosts localhost')).code).toBe(0);
    });
  });

  describe('files', () => {
    it.each([
      '/root',
      '/home',
      '/var',
      '/run',
      '/sys',
      '/boot',
      '/opt',
      '/srv',
      '/mnt',
      '/etc/shadow',
      '/etc/ssh',
      '/etc/environment',
    ])('in %s are not there', async (path) => {
      const { run } = start(create());
      const listing = await run(`ls -A '${path}' 2>/dev/null | grep -v '^app$'`);
      expect(listing.output).toBe('');
    });

    it('of the data folder and of other checkouts are not there', async () => {
      const { secret, outer, run } = start(create());
      expect(await run(`cat '${secret}' || ls '${outer}'`)).toMatchObject({ output: expect.not.stringContaining('data folder') });
      expect((await run(`ls -A ${tmpdir()}`)).output).not.toContain('eph-sandbox-');
    });

    it.each(['/', '/usr', '/usr/bin', '/etc', '/home', '/proc/sys/kernel', '/dev'])('cannot be made in %s', async (folder) => {
      const { run } = start(create());
      const { code } = await run(`echo x > '${folder}/planted'`);
      expect(code).not.toBe(0);
    });

    it.each(['/tmp', '/dev/shm'])('in %s are limited', async (folder) => {
      const { run } = start(create());
      const { output, code } = await run(`head -c 400M /dev/zero > ${folder}/large`);
      expect([code, output]).toEqual([1, expect.stringContaining('No space left')]);
    });

    it('that a link leads to are those of the sandbox', async () => {
      const { secret, run } = start(create());
      expect((await run(`ln -s '${secret}' link; cat link; ln -s /etc/shadow other; cat other`)).output).not.toMatch(
        /data folder|root:/,
      );
    });
  });

  describe('processes', () => {
    it('of ephd and of others cannot be seen, signalled or traced', async () => {
      const { run } = start(create());
      const { output } = await run(
        `ls /proc | grep -c '^[0-9]'; kill -9 ${process.pid}; cat /proc/${process.pid}/environ; grep -l PATH /proc/*/environ | wc -l`,
      );
      expect(Number(output.split('\n')[0])).toBeLessThan(10);
      expect(output).not.toContain('EPH_TEST_SECRET');
      expect(process.exitCode).toBeUndefined();
    });

    it('have none of the variables of ephd, not even the first ones', async () => {
      process.env.EPH_TEST_SECRET = 'of ephd';
      onTestFinished(() => void delete process.env.EPH_TEST_SECRET);
      const { run } = start(create());
      expect((await run('cat /proc/*/environ; env')).output).not.toContain('of ephd');
    });

    it('outside show nothing of its variables', async () => {
      const { launch } = start(create());
      const child = launch('echo ready; sleep 100', { PASSWORD: 'correct horse battery' });
      await once(child.stdout ?? child, 'data');
      const all = (await createProcesses().readAll()).filter(({ isInside }) => !isInside);
      const seen = all.flatMap(({ pid }) => ['cmdline', 'environ'].map((file) => read(`/proc/${pid}/${file}`)));
      expect(seen.join('\n')).not.toContain('correct horse');
    });

    it('all go when the one outside is killed, wherever they tried to hide', async () => {
      const { launch, tree } = start(create());
      const child = launch(
        'env -i setsid /bin/sh -c \'trap "" TERM HUP; while :; do echo x >> /app/alive; sleep 0.02; done\' & echo ready; sleep 100',
      );
      await once(child.stdout ?? child, 'data');
      await until('the daemon writes', () => read(join(tree, 'alive')).length > 3);
      child.kill('SIGKILL');
      await once(child, 'exit');
      await new Promise((resolve) => setTimeout(resolve, 200));
      const before = read(join(tree, 'alive')).length;
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect(read(join(tree, 'alive')).length).toBe(before);
    });

    it('in the background go when the command ends', async () => {
      const { run, tree } = start(create());
      await run("env -i setsid /bin/sh -c 'while :; do echo x >> /app/alive; sleep 0.02; done' > /dev/null 2>&1 & sleep 0.3");
      await new Promise((resolve) => setTimeout(resolve, 200));
      const before = read(join(tree, 'alive')).length;
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect(read(join(tree, 'alive')).length).toBe(before);
    });
  });

  describe('what would run outside', () => {
    it.each(['LD_PRELOAD', 'LD_LIBRARY_PATH', 'LD_AUDIT', 'BASH_ENV', 'ENV', 'GCONV_PATH'])(
      'does not through %s',
      async (name) => {
        const { outer, run } = start(create());
        const evil = join(outer, 'evil');
        writeFileSync(evil, `echo escaped > '${join(outer, 'escaped')}'\n`);
        await run('true', { [name]: evil });
        expect(read(join(outer, 'escaped'))).toBe('');
      },
    );
  });

  describe('calls to the kernel', () => {
    it('that no service needs are refused, each of them', async () => {
      const { run } = start(create());
      const column = process.arch === 'arm64' ? 1 : 0;
      const calls = Object.entries(deniedCalls).map(([name, numbers]) => [name, numbers[column]] as const);
      const script = calls.map(
        ([name, number]) => `$! = 0; syscall(${number}, -1, -1, -1, -1, -1); print "${name} ", $! + 0, "\\n";`,
      );
      const { output } = await run(`perl -e '${script.join(' ')}'`);
      expect(output.trim().split('\n')).toEqual(calls.map(([name]) => `${name} 38`));
    });

    it.skipIf(process.arch !== 'x64')('cannot be made under their second numbers', async () => {
      const { run } = start(create());
      expect((await run(`perl -e 'syscall(${0x4000_0000 + 39}); print $! + 0'`)).output).toBe('38');
    });

    it('cannot make further namespaces or raise privileges', async () => {
      const { run } = start(create());
      const { output } = await run('unshare -U true || echo no; unshare -r true || echo no; grep NoNewPrivs /proc/self/status');
      expect(output).toMatch(/no[^]*no[^]*NoNewPrivs:\t1/);
    });
  });

  it('leaves ports of its own network to services only as far as nobody listens there', async () => {
    const { run } = start(create());
    const server = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const { output } = await run(
      `'${process.execPath}' -e 'require("net").createServer().on("error", (e) => console.log(e.code)).listen(${port}, "127.0.0.1")'`,
    );
    expect(output).toBe('EADDRINUSE\n');
  });
};

const read = (path: string): string => {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
};
