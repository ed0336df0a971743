import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { endProcesses } from './end-processes.ts';
import { until } from './process-harness.fake.ts';
import type { Command, Sandbox } from './sandbox.ts';
import { deniedCalls } from './seccomp.ts';
import { markerVariable } from './service-environment.ts';
import { createProcesses } from './this-machine.ts';

const marker = `sandbox-contract-${process.pid}`;

interface Result {
  readonly code: number | null;
  readonly output: string;
}

type Network = Command['network'];

/** A checkout, a HOME, and beside them what a service must not reach. */
const start = ({ sandbox, network }: { readonly sandbox: Sandbox; readonly network: Network }) => {
  const outer = mkdtempSync(join(tmpdir(), 'eph-sandbox-'));
  onTestFinished(() => rmSync(outer, { recursive: true, force: true }));
  const [tree, home, secret] = [join(outer, 'tree'), join(outer, 'home'), join(outer, 'secret.txt')];
  for (const folder of [tree, home, join(tree, 'inner')]) mkdirSync(folder);
  writeFileSync(secret, 'the data folder');

  const launch = (script: string, variables: Readonly<Record<string, string>> = {}, directory = '.') => {
    const {
      script: outside,
      words,
      folder,
      input,
      ...confined
    } = sandbox.confine({
      words: ['sh', '-c', script],
      tree,
      directory,
      home,
      variables: { PATH: '/usr/bin:/bin', OWN: 'its own', [markerVariable]: marker, ...variables },
      network,
    });
    if (input === undefined) throw new Error('it is not confined');
    // As the provider starts it: under a process of its own session.
    const child = spawn('/bin/sh', ['-c', `${outside}; exit $?`, 'sh', ...words], {
      cwd: folder,
      env: confined.variables,
      detached: true,
      stdio: [input, 'pipe', 'pipe'],
    });
    closeSync(input);
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
export const describeSandbox = (sandbox: Sandbox, network: Network): void => {
  const create = () => ({ sandbox, network });

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

    it.each(['what holds it is killed', 'it is ended'])('of a sandbox that still starts are found, when %s', async (how) => {
      const { launch } = start(create());
      const [processes, signal] = [createProcesses(), new AbortController().signal];
      const seconds = String(100_000 + Math.floor(Math.random() * 100_000));
      for (let attempt = 0; attempt < 40; attempt += 1) {
        const { pid = 0 } = launch(`exec sleep ${seconds}`);
        const leader = { pid, startTime: processes.readStartTime(pid) ?? '', bootId: processes.bootId, isSandboxed: true };
        await new Promise((resolve) => setTimeout(resolve, attempt / 2));
        if (how === 'it is ended') await endProcesses(processes, { marker, leaders: [leader], graceMs: 300, signal });
        else process.kill(pid, 'SIGKILL');
      }
      await endProcesses(processes, { marker, leaders: [], graceMs: 0, signal });
      expect(readdirSync('/proc').filter((pid) => read(`/proc/${pid}/cmdline`).includes(seconds))).toEqual([]);
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

  it('gets no file of the processes that started it', async () => {
    const { run } = start(create());
    expect((await run('ls /proc/$$/fd')).output.split('\n').filter((file) => Number(file) > 2 && Number(file) < 30)).toEqual([]);
  });
};

/** Connects from inside, and prints what came of it. */
const connecting = (target: string): string =>
  `'${process.execPath}' -e 'require("net").connect(${target}).setTimeout(5000)` +
  '.on("timeout", function () { console.log("timeout"); this.destroy() })' +
  '.on("connect", function () { this.once("data", (data) => { console.log(String(data)); this.destroy() }) })' +
  '.on("close", () => console.log("closed")).on("error", ({ code }) => console.log(code))\'';

const listen = async (address: string | { host: string; port: number }): Promise<number> => {
  const server = createServer((socket) => socket.end('a service of the machine'));
  onTestFinished(() => void server.close());
  await once(server.listen(address), 'listening');
  const bound = server.address();
  return bound !== null && typeof bound === 'object' ? bound.port : 0;
};

/** What a command with a network of its own reaches, and who reaches it. `reaching` may reach the ranges that it is given. */
export const describeOwnNetwork = (reaching: (...ranges: string[]) => Sandbox): void => {
  const own = { port: 0, reaches: [] };
  const machine = Object.values(networkInterfaces()).flatMap((all = []) =>
    all.filter((one) => one.family === 'IPv4' && !one.internal),
  );

  it('is reached on its port from loopback', async () => {
    const port = await findPort();
    const { launch } = start({ sandbox: reaching(), network: { port, reaches: [] } });
    launch(`'${process.execPath}' -e 'require("http").createServer((_, a) => a.end("inside")).listen(${port}, "127.0.0.1")'`);
    let answer = '';
    await until('it answers', async () => {
      answer = await fetch(`http://127.0.0.1:${port}`).then(
        (response) => response.text(),
        () => '',
      );
      return answer !== '';
    });
    expect(answer).toBe('inside');
  });

  it('reaches no port of loopback but those that it is given', async () => {
    const [open, closed] = [await listen(onLoopback), await listen(onLoopback)];
    const { run } = start({ sandbox: reaching(), network: { port: 0, reaches: [open] } });
    expect((await run(connecting(`${open}, "127.0.0.1"`))).output).toBe('a service of the machine\nclosed\n');
    expect((await run(connecting(`${closed}, "127.0.0.1"`))).output).toBe('ECONNREFUSED\nclosed\n');
    expect((await run(connecting(`${closed}, "::1"`))).output).toMatch(/^E\w+\nclosed\n$/);
    expect((await run(connecting(`${closed}, "203.0.113.1"`))).output).not.toContain('a service of the machine');
  });

  it.skipIf(process.env['EPH_TEST_RESOLVER'] === undefined)(
    'resolves names, and reaches nothing else of who does that',
    async () => {
      const resolver = process.env['EPH_TEST_RESOLVER'] ?? '';
      const port = await listen({ host: resolver, port: 0 });
      const { run } = start({ sandbox: reaching(), network: own });
      expect((await run('getent ahostsv4 shop.example')).output).toContain('198.51.100.7');
      expect((await run(connecting(`${port}, "${resolver}"`))).output).toBe('EHOSTUNREACH\nclosed\n');
    },
  );

  it('does not reach abstract sockets', async () => {
    const name = `eph-${process.pid}`;
    await listen(`\0${name}`);
    const { run } = start({ sandbox: reaching(), network: own });
    expect((await run(connecting(`"\\0${name}"`))).output).toBe('ECONNREFUSED\nclosed\n');
  });

  it.each(['10.0.0.1', '100.64.0.1', '169.254.169.254', '172.16.0.1', '192.168.0.1', '224.0.0.1', '255.255.255.255'])(
    'does not reach %s',
    async (address) => {
      const { run } = start({ sandbox: reaching(), network: own });
      expect((await run(connecting(`80, "${address}"`))).output).toMatch(
        /^(EHOSTUNREACH|ENETUNREACH|EACCES|ECONNREFUSED)\nclosed\n$/,
      );
    },
  );

  it.skipIf(machine.length === 0)('does not reach the machine under its other addresses, unless it may', async () => {
    const host = machine[0]?.address ?? '';
    const port = await listen({ host, port: 0 });
    const script = connecting(`${port}, "${host}"`);
    expect((await start({ sandbox: reaching(), network: own }).run(script)).output).toBe('EHOSTUNREACH\nclosed\n');
    const allowed = start({ sandbox: reaching(`${host}/32`), network: own });
    expect((await allowed.run(script)).output).toBe('a service of the machine\nclosed\n');
  });
};

const onLoopback = { host: '127.0.0.1', port: 0 };

/** Nobody listens there any more. */
const findPort = async (): Promise<number> => {
  const server = createServer().listen(onLoopback);
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
};

const read = (path: string): string => {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
};
