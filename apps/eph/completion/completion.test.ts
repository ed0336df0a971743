import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { describeWith } from '../../../test/parts/describe-with.ts';
import { fish } from '../../../test/parts/fish.ts';
import { script } from '../../../test/parts/script.ts';
import { zsh } from '../../../test/parts/zsh.ts';
import { type FakeEphd, fakeEnvironment, fakeProject, startFakeEphd } from '../ephd.fake.ts';
import { exitCodes } from '../exit-codes.ts';
import { eph } from '../terminal.fake.ts';

let ephd: FakeEphd;
let folder: string;

/** `eph` on the PATH, as somebody has it who has installed it. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'eph-shell-'));
  const main = join(import.meta.dirname, '../main.ts');
  await writeFile(join(folder, '.bashrc'), 'PS1="> "; source <(eph completion bash); echo ready\n');
  await writeFile(
    join(folder, '.zshrc'),
    'PS1="> "; autoload -U compinit; compinit -u; source <(eph completion zsh); echo ready\n',
  );
  await writeFile(join(folder, 'eph.fish'), (await eph(['completion', 'fish'])).out);
  await writeFile(join(folder, 'eph'), `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`, { mode: 0o755 });
});
afterAll(async () => rm(folder, { recursive: true, force: true }));
beforeEach(async () => {
  ephd = await startFakeEphd();
  ephd.environments = [
    fakeEnvironment(),
    fakeEnvironment({ id: 'fedcba9876543210', name: 'blog-quiet-river-1188', alias: null }),
  ];
  ephd.projects = [fakeProject()];
});
afterEach(async () => ephd.close());

const variables = () => ({
  PATH: `${folder}${delimiter}${process.env['PATH']}`,
  HOME: folder,
  TERM: 'xterm',
  XDG_CACHE_HOME: join(folder, 'cache'),
  EPH_SERVER: ephd.address,
});

const startShell = (command: string) => {
  const terminal = script.find();
  const shell = spawn(terminal.found ? terminal.where : '', ['-qefc', `stty cols 160 rows 40; exec ${command}`, '/dev/null'], {
    cwd: folder,
    env: variables(),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let screen = '';
  shell.stdout.on('data', (chunk) => {
    screen += String(chunk);
  });
  const shows = async (text: string): Promise<string> => {
    await expect.poll(() => stripVTControlCharacters(screen), { timeout: 30_000 }).toContain(text);
    return stripVTControlCharacters(screen);
  };
  return {
    /** Types once the screen shows the text, which then counts no more. */
    async type(after: string, keys: string): Promise<void> {
      await shows(after);
      screen = '';
      shell.stdin.write(keys);
    },
    /** The screen since then, once it shows the text. */
    shows,
    [Symbol.dispose]: () => void shell.kill('SIGKILL'),
  };
};

describeWith(script, 'in a real bash', () => {
  it('completes commands, options, choices and names', async () => {
    using shell = startShell('bash --noprofile -i');
    await shell.type('ready', 'eph lo\t');
    await shell.type('logs ', 'sh\t');
    await shell.type('shop-serene-ocean-4207 ', '-c w\t');
    await shell.type('web ', '--fol\t');
    await shell.type('--follow ', '\x15eph completion z\t');
    await shell.type('completion zsh', '\x15eph list --project=s\t');
    await shell.type('--project=shop', '\x15eph config val\t');
    expect(await shell.shows('config validate ')).not.toContain('explain');
  }, 120_000);

  it('shows nothing while ephd is away', async () => {
    await ephd.close();
    using shell = startShell('bash --noprofile -i');
    await shell.type('ready', 'eph logs s\t\x15echo do""ne\r');
    expect(await shell.shows('done\r')).not.toMatch(/ephd|answer/);
  }, 120_000);
});

describeWith(zsh, 'in a real zsh', () => {
  describeWith(script, 'on a terminal', () => {
    it('completes commands and names, with descriptions', async () => {
      using shell = startShell('zsh -d -i');
      await shell.type('ready', 'eph l\t');
      await shell.type('-- print the logs of its components', 'o\t');
      await shell.type('ogs', '\t');
      await shell.type('-- Ready, branch preview/login', 'sh\t');
      await shell.type('op-serene-ocean-4207', '-c \t');
      await shell.type('-- process, ready', '\x15eph list --pro\t');
      await shell.type('-- only of this project', '\x15eph completion f\t');
      expect(await shell.shows('ish')).not.toContain('bash');
    }, 120_000);
  });
});

describeWith(fish, 'in a real fish', () => {
  const finding = fish.find();
  const program = finding.found ? finding.where : '';
  const complete = async (line: string): Promise<readonly string[]> => {
    const script = `source ${join(folder, 'eph.fish')}; complete -C ${JSON.stringify(line)}`;
    const shell = spawn(program, ['--no-config', '-c', script], {
      cwd: folder,
      env: variables(),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const chunks = await Array.fromAsync(shell.stdout.setEncoding('utf8'));
    return chunks.join('').trimEnd().split('\n');
  };

  it('completes commands, options and choices, with descriptions', async () => {
    expect(await complete('eph lo')).toStrictEqual(['logs\tprint the logs of its components']);
    expect(await complete('eph config ')).toHaveLength(2);
    expect(await complete('eph list --proj')).toStrictEqual(['--project\tonly of this project']);
    expect(await complete('eph completion ')).toStrictEqual(['bash', 'fish', 'zsh']);
    expect(await complete('eph list --phase Re')).toStrictEqual(['Ready', 'Removing']);
  }, 120_000);

  it('completes names, with descriptions', async () => {
    expect(await complete('eph logs sh')).toStrictEqual(['shop-serene-ocean-4207\tReady, branch preview/login']);
    expect(await complete('eph sources ')).toStrictEqual(['shop\tacme/shop']);
    expect(await complete('eph redeploy shop-serene-ocean-4207 d')).toStrictEqual(['db\tprocess, ready']);
  }, 120_000);
});

describe('__complete', () => {
  const ask = async (...args: readonly string[]) => eph(['__complete', ...args], { variables: { EPH_SERVER: ephd.address } });

  it('asks the ephd that the command line names', async () => {
    await using other = await startFakeEphd();
    other.environments = [fakeEnvironment({ name: 'over-there-1' })];
    for (const server of [['--server', other.address], [`--server=${other.address}`], ['--server', '=', other.address]])
      expect((await ask('environments', '--', ...server, 'logs', '-f', '')).out).toBe(
        'over-there-1\tReady, branch preview/login\n',
      );
  });

  it('finds the environment whose components it lists among options and their values', async () => {
    const { out } = await ask('components', '--', 'logs', '--tail', '5', '-f', 'blog-quiet-river-1188', '-c', '');
    expect(out).toBe('web\tprocess, ready\ndb\tprocess, ready\n');
    expect(ephd.requests).toStrictEqual(['GET /api/v1/environments/blog-quiet-river-1188']);
  });

  it('says nothing when something is wrong', async () => {
    const nothing = { code: exitCodes.ok, out: '', err: '' };
    expect(await ask('everything', '--', '')).toStrictEqual(nothing);
    expect(await ask()).toStrictEqual(nothing);
    expect(await ask('environments', '--', '--server', 'nonsense', 'logs', '')).toStrictEqual(nothing);
    expect(await ask('components', '--', 'logs', 'nobody', '-c', '')).toStrictEqual(nothing);
    ephd.instead = () => undefined;
    expect(await ask('environments', '--', 'logs', '')).toStrictEqual(nothing);
    await ephd.close();
    expect(await ask('environments', '--', 'logs', '')).toStrictEqual(nothing);
  });

  it('gives a shell nothing that it could run, and a terminal nothing that it could obey', async () => {
    ephd.environments = ['$(touch x)', '`x`', '-rf', "a'b", 'a b', '\x1b[2J', 'fine-1'].map((name) =>
      fakeEnvironment({ name, source: { kind: 'branch', name: '\x1b[2J\t' } }),
    );
    expect((await ask('environments', '--', 'logs', '')).out).toBe('fine-1\tReady, branch \\x1b[2J\\x09\n');
  });
});
