import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { ResolvedComponent } from '@eph/contract';
import type { ExecRequest, ExecSession } from '@eph/engine/provider/provider';
import { describe, expect, it, onTestFinished } from 'vitest';
import { findSandbox } from './bubblewrap.ts';
import { findCgroups } from './cgroups.ts';
import { openNamespaces } from './namespaces.ts';
import { identity, never, ProcessHarness, run, until } from './process-harness.fake.ts';
import { deniedCalls } from './seccomp.ts';
import { createProcesses } from './this-machine.ts';

const folder = mkdtempSync(join(tmpdir(), 'eph-exec-'));
const { isolation } = findSandbox({ folder, tools: [], network: 'shared', reach: [] });
rmSync(folder, { recursive: true });
const { lacks } = findCgroups('/anywhere');
const why = isolation.state === 'trusted' ? isolation.because : (isolation.lacks.network ?? lacks);
const skipped = why === undefined ? '' : ` [skipped here: ${why}; ordinary-user.test.ts runs it]`;

const terminal = { columns: 80, rows: 24, type: 'xterm' };
const answer = `exec '${process.execPath}' answer.mjs`;
const program = fileURLToPath(new URL('exec.program.ts', import.meta.url));

const start = async (values: Partial<ResolvedComponent['values']> = {}, network?: ResolvedComponent['network']) => {
  const harness = new ProcessHarness();
  onTestFinished(() => harness[Symbol.asyncDispose]());
  const component = harness.component('web', 1, { command: run('answer.mjs'), ...values });
  const wanted = network === undefined ? component : { ...component, network };
  await harness.provider.ensure(identity, wanted, never);
  const { outputs } = await harness.untilReady(wanted);
  const exec = async (command: readonly string[], more: Partial<ExecRequest> = {}): Promise<ExecSession> => {
    const abort = new AbortController();
    onTestFinished(() => abort.abort());
    return await harness.provider.exec(identity.id, wanted.name, { command, signal: abort.signal, ...more });
  };
  const sh = async (source: string, more: Partial<ExecRequest> = {}) => {
    const { output, errors, exited } = await exec(['sh', '-c', source], more);
    const [out, err, code] = await Promise.all([text(output), text(errors), exited]);
    return { out, err, code };
  };
  const tree = join(harness.layout.trees(identity.id), wanted.commit);
  return { harness, wanted, outputs, exec, sh, tree };
};

const untilRead = async (stream: Readable, expected: string): Promise<void> => {
  let seen = '';
  stream.on('data', (chunk) => (seen += String(chunk)));
  await until(`it prints ${expected}`, () => seen.includes(expected));
};

const networks = [['a shared network', undefined] as const, ['a network of its own', { reaches: [] }] as const];

/** Of a process, as it sees itself. */
const showRights = [
  'grep -E "^(Cap(Inh|Prm|Eff|Amb)|NoNewPrivs|Seccomp|Uid|Gid|Groups)" /proc/self/status',
  'cut -d" " -f4- /proc/self/mountinfo | sort',
  'for one in user mnt pid net ipc cgroup; do readlink /proc/self/ns/$one; done',
  'ls -A / /home /dev /tmp | sort',
].join('; ');

describe.skipIf(why !== undefined)(`exec in bubblewrap${skipped}`, () => {
  describe('a command', () => {
    it.each(networks)('has the rights and the view of the service, with %s', async (_name, network) => {
      const { sh } = await start({ command: `(${showRights}) > "$HOME/rights"; ${answer}` }, network);
      const { out: ofService } = await sh('cat "$HOME/rights"');
      for (const more of [{}, { terminal }]) {
        const { out } = await sh(showRights, more);
        expect(out.replaceAll('\r', '')).toBe(ofService);
      }
      expect(ofService).toMatch(/CapPrm:\t0+\nCapEff:\t0+\n[^]*NoNewPrivs:\t1\nSeccomp:\t2\n/);
      expect((await sh('grep CapBnd /proc/self/status')).out).toBe('CapBnd:\t0000000000000000\n');
    });

    it('cannot make the calls that the service cannot make', async () => {
      const { sh } = await start();
      const column = process.arch === 'arm64' ? 1 : 0;
      const calls = Object.entries(deniedCalls).map(([name, numbers]) => [name, numbers[column]] as const);
      const source = calls.map(
        ([name, number]) => `$! = 0; syscall(${number}, -1, -1, -1, -1, -1); print "${name} ", $! + 0, "\\n";`,
      );
      const { out } = await sh(`perl -e '${source.join(' ')}'`);
      expect(out.trim().split('\n')).toEqual(calls.map(([name]) => `${name} 38`));
    });

    it('has the variables of the service and a TERM, nothing of ephd, and no file but its own', async () => {
      const env = { GREETING: "it's\n$(id)", UID: '7', EMPTY: '', PATH: '/usr/bin:/bin' };
      const { sh, outputs, exec } = await start({ env });
      const ofService: unknown = await (await fetch(outputs.url ?? '')).json();
      const { output } = await exec([process.execPath, '-p', 'JSON.stringify(process.env)']);
      expect(JSON.parse(await text(output))).toEqual(ofService);
      const { output: typed } = await exec([process.execPath, '-p', 'JSON.stringify(process.env)'], { terminal });
      const { LINES: _lines, COLUMNS: _columns, ...shown } = JSON.parse(await text(typed)) as Record<string, string>;
      expect(shown).toEqual({ ...(ofService as object), TERM: 'xterm' });
      for (const more of [{}, { terminal }])
        expect((await sh('ls /proc/$$/fd', more)).out.split(/\s+/).filter((one) => Number(one) > 2 && Number(one) < 30)).toEqual(
          [],
        );
    });

    it('starts in the directory of the service, and shares its files and processes', async () => {
      const { sh, tree } = await start({ directory: 'inside', command: `echo $$ > /tmp/pid; cd ..; ${answer}` });
      expect(await sh('pwd; kill -0 $(cat /tmp/pid) && echo here > made')).toEqual({ out: '/app/inside\n', err: '', code: 0 });
      expect(readFileSync(join(tree, 'inside', 'made'), 'utf8')).toBe('here\n');
    });

    it('reaches the service in a network of its own, and no other port of loopback', async () => {
      const { exec, harness } = await start({}, { reaches: [] });
      const connect = `fetch('http://127.0.0.1:' + process.argv[1]).then((one) => console.log(one.status), (error) => console.log(error.cause.code))`;
      const { output } = await exec(['sh', '-c', `'${process.execPath}' -e "$0" "$PORT"`, connect]);
      expect(await text(output)).toBe('200\n');
      const shared = harness.component('other', 1, { command: run('answer.mjs') });
      await harness.provider.ensure(identity, shared, never);
      const { outputs } = await harness.untilReady(shared);
      const { output: refused } = await exec([process.execPath, '-e', connect, outputs.port ?? '']);
      expect(await text(refused)).toBe('ECONNREFUSED\n');
    });

    it('runs beside a version that never gets ready', async () => {
      await using harness = new ProcessHarness();
      const wanted = harness.component('web', 1, { command: run('idle.mjs') });
      await harness.provider.ensure(identity, wanted, never);
      let output = '';
      await until('the sandbox is there', async () => {
        const session = await harness.provider
          .exec(identity.id, wanted.name, { command: ['pwd'], signal: never })
          .catch(() => undefined);
        output = session === undefined ? '' : await text(session.output);
        return output !== '';
      });
      expect(output).toBe('/app\n');
    });

    it('is refused while the service does not run', async () => {
      await using harness = new ProcessHarness({ limits: { restartFirstMs: 60_000 } });
      const wanted = harness.component('web', 1, { command: 'exit 3' });
      await harness.provider.ensure(identity, wanted, never);
      await until('it has ended', async () => (await harness.observe('web'))?.next?.message.includes('code 3') === true);
      const exec = harness.provider.exec(identity.id, wanted.name, { command: ['true'], signal: never });
      await expect(exec).rejects.toMatchObject({
        code: 'component.not_ready',
        message: 'web does not run at the moment; its log says why.',
      });
    });

    it('is not taken for the one before, which is still being ended', async () => {
      const { exec } = await start();
      for (let attempt = 0; attempt < 20; attempt += 1) {
        const { output } = await exec(['echo', String(attempt)]);
        expect(await text(output)).toBe(`${attempt}\n`);
      }
    });

    it('is limited with its environment, and leaves no group behind', async () => {
      const { exec, harness } = await start();
      const session = await exec(['sleep', '1000']);
      let groups: readonly string[] = [];
      await until('it runs', async () => {
        const beside = (await harness.running()).find(({ marker }) => marker?.includes('/exec.') === true);
        groups = beside === undefined ? [] : groupsOf(beside.pid);
        return groups.length > 0;
      });
      expect(groups.every((group) => /\/web\.exec-[0-9a-f]{8}$/.test(group))).toBe(true);
      expect(groups.map((group) => readFile(join(group, '..', 'pids.max')))).toContain('256');
      const [usage] = (await harness.provider.usage(identity.id, never)).values();
      expect(usage?.memoryBytes).toBeGreaterThan(0);
      session.input.destroy();
      for (const { pid, marker } of await harness.running())
        if (marker?.includes('/exec.') === true) process.kill(pid, 'SIGKILL');
      await session.exited;
      await until('the groups are gone', () => groups.every((group) => !existsSync(group)));
    });
  });

  describe('the service', () => {
    it('goes on as if there had been no command, and is not restarted', async () => {
      const { exec, harness } = await start();
      const before = await harness.leaders();
      const session = await exec(['sleep', '1000']);
      for (const { pid, marker } of await harness.running())
        if (marker?.includes('/exec.') === true) process.kill(pid, 'SIGKILL');
      expect(await session.exited).toBe(137);
      expect(await harness.leaders()).toEqual(before);
      expect(await harness.observe('web')).toMatchObject({ current: { health: 'ready', message: '' } });
    });

    it('and the commands beside it end when it does', async () => {
      const { exec, harness } = await start({ command: `trap 'exit 4' USR1; '${process.execPath}' answer.mjs & wait` });
      const session = await exec(['sh', '-c', 'trap "" TERM HUP; echo ready; while :; do sleep 1; done']);
      await once(session.output, 'data');
      await (await exec(['kill', '-KILL', '2'])).exited;
      expect(await session.exited).toBe(137);
      await until('it runs again', async () => (await harness.observe('web'))?.current?.health === 'ready');
      expect(
        (await harness.provider.list({ environment: identity.id, parts: true }, never)).items[0]?.components[0]?.parts,
      ).toMatchObject([{ restarts: 1, message: expect.not.stringContaining('background') }]);
    });
  });

  describe('a command that tries to stay', () => {
    const hiding = (source: string): string => `env -i /bin/sh -c 'trap "" TERM HUP INT; ${source}' >/dev/null 2>&1 </dev/null`;
    const daemons = [
      hiding('exec sleep 4242'),
      `setsid ${hiding('sleep 4242; :')}`,
      `(setsid ${hiding('setsid sleep 4242; :')} &)`,
    ];
    const source = `${daemons.map((one) => `${one} & `).join('')} echo ready; trap "" TERM HUP; while :; do sleep 1; done`;

    it('ends when it is aborted, with what it hid', async () => {
      const { exec, harness } = await start();
      const before = (await harness.running()).length;
      for (const more of [{}, { terminal }]) {
        const abort = new AbortController();
        const session = await exec(['sh', '-c', source], { signal: abort.signal, ...more });
        await untilRead(session.output, 'ready');
        await until('all run', async () => (await harness.running()).length >= before + 5);
        abort.abort();
        expect(await session.exited).toBe(137);
        expect((await harness.running()).length).toBe(before);
      }
    });

    it('ends with ephd, and the next one can run commands beside the service', async () => {
      const { exec, harness, sh } = await start();
      const session = await exec(['sh', '-c', source]);
      await untilRead(session.output, 'ready');
      await harness.restart(async () => {
        expect(await harness.running()).toMatchObject([{ marker: expect.not.stringContaining('/exec.') }]);
      });
      expect(await session.exited).toBe(137);
      await harness.observe('web');
      expect((await sh('echo again')).out).toBe('again\n');
    });

    it('and starts itself again and again ends too', async () => {
      const { exec, harness } = await start();
      const before = (await harness.running()).length;
      // Each process ends as soon as it has started the next one, in a session of its own.
      const comet =
        'use POSIX; $| = 1; print "ready\\n"; close STDOUT; for (;;) { my $next = fork; exit 0 if $next; POSIX::setsid(); }';
      const bomb = '$| = 1; print "ready\\n"; close STDOUT; for (;;) { fork }';
      for (const code of [comet, bomb]) {
        const abort = new AbortController();
        const session = await exec(['sh', '-c', `perl -e '${code}'; sleep 1000`], { signal: abort.signal });
        await untilRead(session.output, 'ready');
        abort.abort();
        await session.exited;
        expect((await harness.running()).length).toBe(before);
      }
    });

    it('does not outlive a killed ephd and the start of the next one, which finds the service as it was', async () => {
      await using harness = new ProcessHarness();
      const child = spawn(process.execPath, [program, harness.folder, source], { stdio: ['ignore', 'pipe', 'inherit'] });
      await once(child.stdout, 'data');
      await until('all of it runs', async () => {
        const beside = (await harness.running()).filter(({ marker }) => marker?.includes('/exec.') === true);
        return beside.length >= 5;
      });
      const service = (await harness.leaders()).find(({ marker }) => marker?.includes('/exec.') === false);
      child.kill('SIGKILL');
      await once(child, 'close');
      await until('what waits for it ended with ephd', async () => (await harness.leaders()).length === 1);
      // As if ephd had been killed before it knew the process of the service.
      const record = join(harness.layout.component(identity.id, harness.component('web', 1, {}).name), 'component.json');
      const content = JSON.parse(readFileSync(record, 'utf8')) as { record: { current: { process: unknown } } };
      content.record.current.process = null;
      await harness.restart(() => writeFileSync(record, JSON.stringify(content)));
      expect(await harness.observe('web')).toMatchObject({ current: { health: 'ready' } });
      await until('nothing of it is left', async () =>
        (await harness.running()).every(({ marker }) => marker?.includes('/exec.') === false),
      );
      expect(await harness.leaders()).toMatchObject([{ pid: service?.pid, startTime: service?.startTime }]);
    });
  });

  describe('a hostile service', () => {
    const planted = ['sh', 'perl', 'script', 'stty', 'tty', 'setpriv', 'bwrap', 'nsenter', 'env'];
    const plant = [
      `for one in ${planted.join(' ')}; do printf '#!/bin/sh\\necho %s >> /app/ran\\n' $one > /app/$one; chmod +x /app/$one; done`,
      'echo "echo shell >> /app/ran" | tee "$HOME/.bashrc" "$HOME/.profile" /app/start.sh > /dev/null',
    ].join('; ');

    it('gets nothing run on the way in by programs, start files and variables of its own', async () => {
      const env = {
        PATH: '/app:/usr/bin:/bin',
        LD_PRELOAD: '/app/evil.so',
        BASH_ENV: '/app/start.sh',
        ENV: '/app/start.sh',
        PERL5OPT: '-M/app/evil',
        SHELL: '/app/sh',
      };
      const { exec, tree } = await start({ command: [process.execPath, 'answer.mjs'], env });
      const setUp = await exec(['/bin/sh', '-c', plant]);
      await Promise.all([text(setUp.output), text(setUp.errors), setUp.exited]);
      expect(readdirSync(tree)).toEqual(expect.arrayContaining(planted));
      rmSync(join(tree, 'ran'), { force: true });
      const { output, errors, exited } = await exec(['/usr/bin/id', '-u']);
      // The loader complains once for each program that has the variable.
      expect([(await text(errors)).match(/evil\.so/g)?.length, await text(output), await exited]).toEqual([
        1,
        `${process.getuid?.()}\n`,
        0,
      ]);
      const shown = await exec(['/usr/bin/id', '-u'], { terminal });
      expect([(await text(shown.output)).match(/evil\.so/g)?.length, await shown.exited]).toEqual([1, 0]);
      shown.resize(10, 10);
      expect(existsSync(join(tree, 'ran'))).toBe(false);
    });

    it('cannot take over what comes in before that is confined', async () => {
      // Opens the memory of every process it finds, and notes those that have no filter of system calls.
      const hunt = `
        use Fcntl; open my $log, ">", "/tmp/hunted"; $log->autoflush(1); my %seen;
        for (;;) { for my $one (glob "/proc/[0-9]*") {
          next unless sysopen my $memory, "$one/mem", O_RDWR;
          open my $status, "<", "$one/status" or next; my $text = join "", <$status>;
          print $log "unconfined $one ", $text =~ /^Name:\\s*(\\S+)/, "\\n" if $text =~ /^Seccomp:\\t0/m;
          print $log "opened\\n" unless $seen{$one}++;
        } }`;
      const { sh } = await start({ command: `perl -e "$HUNT" & ${answer}`, env: { HUNT: hunt } });
      for (let attempt = 0; attempt < 15; attempt += 1) await sh('sleep 0.02', attempt % 3 === 0 ? { terminal } : {});
      const { out } = await sh('cat /tmp/hunted');
      expect(out).toContain('opened');
      expect(out).not.toContain('unconfined');
    });

    it('cannot keep ephd waiting by stopping what comes in', async () => {
      const stopping =
        'while :; do for one in /proc/[0-9]*; do read -r name < $one/comm; [ "$name" = perl ] && kill -STOP ${one#/proc/}; done; done';
      const { harness, exec, wanted } = await start({ command: `(${stopping}) 2>/dev/null & ${answer}` });
      const abort = new AbortController();
      const outcomes: Promise<number>[] = [];
      let isEntering = false;
      const enter = async (): Promise<number> => {
        isEntering = true;
        const { exited } = await exec(['sleep', '1000'], { signal: abort.signal });
        isEntering = false;
        return exited;
      };
      // Most are in before the service sees them; the next may not be.
      await until('one is stopped', async () => {
        if (!isEntering) outcomes.push(enter().catch(() => 137));
        return (await harness.running()).some(({ pid }) => readFile(`/proc/${pid}/status`).includes('State:\tT'));
      });
      await harness.provider.remove(identity, wanted.name, never);
      expect(new Set(await Promise.all(outcomes))).toEqual(new Set([137]));
      expect(await harness.running()).toEqual([]);
    });

    it.each(networks)('is not entered before its sandbox is complete, with %s', async (_name, network) => {
      const outer = mkdtempSync(join(tmpdir(), 'eph-exec-'));
      onTestFinished(() => rmSync(outer, { recursive: true }));
      const sandbox = findSandbox({ folder: join(outer, 'sandbox'), tools: [], network: 'shared', reach: [] });
      const processes = createProcesses();
      const command = { words: ['sleep', '1000'], tree: outer, directory: '.', home: outer, variables: {} };
      const seen: string[][] = [];
      for (let attempt = 0; attempt < 10; attempt += 1) {
        const { script, words, input, variables } = sandbox.confine({ ...command, network: network && { port: 0, ...network } });
        if (input === undefined) throw new Error('it is confined');
        const { pid = 0 } = spawn('/bin/sh', ['-c', `${script}; exit $?`, 'sh', ...words], {
          cwd: '/',
          env: variables,
          detached: true,
          stdio: [input, 'ignore', 'ignore'],
        });
        closeSync(input);
        const holder = { pid, startTime: processes.readStartTime(pid) ?? '', bootId: processes.bootId };
        const deadline = Date.now() + 20_000;
        for (let isEntered = false; !isEntered && Date.now() < deadline; ) {
          using namespaces = openNamespaces(processes, holder, network !== undefined);
          isEntered = namespaces !== undefined;
          if (namespaces !== undefined) seen.push(readdirSync(`/proc/self/fd/${namespaces.all}/../root`));
        }
        process.kill(pid, 'SIGKILL');
      }
      expect(seen).toHaveLength(10);
      expect(seen.filter((names) => !names.includes('app') || names.includes('root'))).toEqual([]);
    });

    it('is not entered in the place of another that had its process number', async () => {
      const { harness } = await start();
      const processes = createProcesses();
      const [leader] = await harness.leaders();
      if (leader === undefined) throw new Error('it runs');
      const holder = { pid: leader.pid, startTime: leader.startTime, bootId: processes.bootId };
      using namespaces = openNamespaces(processes, holder, false);
      expect(namespaces).toBeDefined();
      expect(openNamespaces(processes, { ...holder, startTime: '1' }, false)).toBeUndefined();
      expect(openNamespaces(processes, { ...holder, pid: process.pid }, false)).toBeUndefined();
    });

    it('that floods a terminal and keeps it is ended with the command', async () => {
      const { exec } = await start();
      const abort = new AbortController();
      const session = await exec(['sh', '-c', 'trap "" HUP TERM; yes "$(printf "\\033]0;title\\007\\033[2J")" & exit 0'], {
        signal: abort.signal,
        terminal,
      });
      await once(session.output, 'readable');
      expect(String(session.output.read(100))).toContain('\u001b[2J');
      expect(session.output.readableLength).toBeLessThan(1_000_000);
      abort.abort();
      expect(await session.exited).toBeGreaterThanOrEqual(0);
    });
  });
});

const groupsOf = (pid: number): readonly string[] =>
  readFile(`/proc/${pid}/cgroup`)
    .split('\n')
    .flatMap((line) => {
      const [, names = '', path = ''] = line.split(':');
      return path.includes(`/${identity.id}/`) ? [join('/sys/fs/cgroup', names, path)] : [];
    });

const readFile = (path: string): string => {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return '';
  }
};
