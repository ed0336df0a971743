import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { Origin, type OriginOptions } from '@eph/adapters/forge-git/origin.fake';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { busybox } from '../parts/busybox.ts';
import { describeWith } from '../parts/describe-with.ts';

const script = join(import.meta.dirname, '../../deploy/github-action/write-image-note.sh');
const notesRef = 'refs/notes/eph-images';

interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

type Variables = Readonly<Record<string, string | undefined>>;

const run = async (folder: string, [program = '', ...args]: readonly string[], variables: Variables): Promise<Run> =>
  new Promise((resolve) => {
    const env = { PATH: process.env.PATH, HOME: folder, GIT_CONFIG_NOSYSTEM: '1', ...variables };
    execFile(program, args, { cwd: folder, env }, (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), out, err });
    });
  });

const git = async (folder: string, ...args: readonly string[]): Promise<string> => {
  const { code, out, err } = await run(folder, ['git', ...args], {});
  if (code !== 0) throw new Error(`git ${args.join(' ')}: ${err}`);
  return out.trimEnd();
};

/** A repository with one commit, to which notes are pushed from checkouts. */
class Shop implements AsyncDisposable {
  readonly origin: Origin;
  readonly commit: string;
  #checkouts = 0;

  private constructor(origin: Origin, commit: string) {
    this.origin = origin;
    this.commit = commit;
  }

  static async create(options: OriginOptions = {}): Promise<Shop> {
    const origin = await Origin.create(options);
    return new Shop(origin, await origin.push({ kind: 'branch', name: 'main' }, { 'eph.yaml': '' }));
  }

  /** A commit that checkouts of one branch do not have. */
  async push(branch: string): Promise<string> {
    return this.origin.push({ kind: 'branch', name: branch }, { branch });
  }

  async checkOut(...flags: readonly string[]): Promise<string> {
    const folder = join(this.origin.folder, `checkout-${(this.#checkouts += 1)}`);
    await git(this.origin.folder, 'clone', '--quiet', '--single-branch', ...flags, `file://${this.origin.path}`, folder);
    return folder;
  }

  async readNote(commit = this.commit): Promise<string> {
    return this.origin.git('notes', '--ref=eph-images', 'show', commit);
  }

  /** As a person or another program writes it. */
  async annotate(text: string, commit = this.commit): Promise<void> {
    const blob = await this.origin.gitWith(text, 'hash-object', '-w', '--stdin');
    await this.origin.git('notes', '--ref=eph-images', 'add', '--force', '-C', blob, commit);
  }

  async tip(): Promise<string> {
    return this.origin.git('rev-parse', notesRef);
  }

  /** Runs before a push is accepted. */
  async onPush(...lines: readonly string[]): Promise<void> {
    const hook = ['#!/bin/sh', 'echo pushed >> pushes', ...lines, ''].join('\n');
    await writeFile(join(this.origin.path, 'hooks/pre-receive'), hook, { mode: 0o755 });
  }

  /** Deletes the notes, and moves them to one of these commits during each push: others were faster. */
  async hideUntilPush(tips: readonly string[]): Promise<void> {
    await this.origin.git('update-ref', '-d', notesRef);
    await writeFile(join(this.origin.path, 'tips'), `${tips.join('\n')}\n`);
    await this.onPush(
      'tip=$(sed -n "$(grep -c . pushes)p" tips)',
      // Git lets no hook move a ref, since the push may still fail.
      `test -z "$tip" || env -u GIT_QUARANTINE_PATH git update-ref ${notesRef} "$tip"`,
    );
  }

  async countPushes(): Promise<number> {
    return (await readFile(join(this.origin.path, 'pushes'), 'utf8')).trimEnd().split('\n').length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.origin[Symbol.asyncDispose]();
  }
}

interface Shell {
  readonly command: string;
  /** Where it finds its tools. */
  readonly path: string | undefined;
}

const writeIn = async ({ command, path }: Shell, checkout: string, variables: Variables): Promise<Run> =>
  run(checkout, [command, script], { PATH: path, ...variables });

/** What shells and their tools could do differently. */
const describeScript = (shell: () => Shell): void => {
  const write = async (checkout: string, commit: string, images: string, variables: Variables = {}): Promise<Run> =>
    writeIn(shell(), checkout, { EPH_COMMIT: commit, EPH_IMAGES: images, ...variables });

  it('writes a note for the commit, and says so', async ({ expect }) => {
    await using shop = await Shop.create();
    expect(await write(await shop.checkOut(), shop.commit, 'api=ghcr.io/acme/api:7, web=web:1')).toEqual({
      code: 0,
      out: `${notesRef} says for commit ${shop.commit}: api=ghcr.io/acme/api:7, web=web:1\n`,
      err: '',
    });
    expect(await shop.readNote()).toBe('eph-images: api=ghcr.io/acme/api:7, web=web:1');
    expect(await shop.origin.git('log', '--format=%an <%ae> %cn <%ce>', notesRef)).toBe(
      'Eph <eph@localhost> Eph <eph@localhost>',
    );
  });

  it('keeps what others wrote, replaces older images of its own, and repeats nothing', async ({ expect }) => {
    await using shop = await Shop.create();
    const checkout = await shop.checkOut();
    for (const [before, after] of rewritten) {
      await shop.annotate(before);
      expect(await write(checkout, shop.commit, 'api=api:7, web=web:1')).toMatchObject({ code: 0 });
      expect(await shop.readNote(), before).toBe(after);
      const tip = await shop.tip();
      expect(await write(checkout, shop.commit, 'api=api:7, web=web:1')).toMatchObject({ code: 0 });
      expect(await write(checkout, shop.commit, ' web=web:1,')).toMatchObject({ code: 0 });
      expect(await shop.tip(), before).toBe(tip);
    }
  });

  it('accepts what names an image', async ({ expect }) => {
    await using shop = await Shop.create();
    expect(await write(await shop.checkOut(), shop.commit, references.join(','))).toMatchObject({ code: 0, err: '' });
    expect(await shop.readNote()).toBe(`eph-images: ${references.join(', ')}`);
  });

  it('refuses anything else with a sentence, and writes nothing', async ({ expect }) => {
    await using shop = await Shop.create();
    const checkout = await shop.checkOut();
    for (const [variables, sentence] of refusals)
      expect(await write(checkout, shop.commit, 'api=api:7', variables)).toEqual({ code: 1, out: '', err: `${sentence}\n` });
    expect(await shop.origin.git('for-each-ref')).not.toContain('refs/notes');
    expect(await git(checkout, 'status', '--porcelain')).toBe('');
  });
};

/** Notes before and after `api=api:7, web=web:1` is written. */
const rewritten = [
  ['Built by CI\n\n\n  \nthanks  \n', 'Built by CI\n\n\n  \nthanks  \neph-images: api=api:7, web=web:1'],
  ['eph-images: db=db:1\neph-image: x:1', 'eph-images: db=db:1\neph-image: x:1\neph-images: api=api:7, web=web:1'],
  ['eph-images: db=db:1,api=api:6,x=x:1\ny', 'eph-images: db=db:1, x=x:1\ny\neph-images: api=api:7, web=web:1'],
  ['eph-images: api=api:7\neph-images: db=db:1', 'eph-images: db=db:1\neph-images: api=api:7, web=web:1'],
  ['eph-images: api=api:7\n eph-images:api=api:7, web\r\n', 'eph-images: web\neph-images: api=api:7, web=web:1'],
] as const;

const digest = `sha256:${'0123456789abcdef'.repeat(4)}`;
const references = [
  'a=redis:7',
  'b=localhost/acme/api:1a2b3c4',
  'c=registry:5000/acme/api:V1.0_x-y',
  `d=ghcr.io/acme/my_app/web--ui.v2__x@${digest}`,
  `a-name-of-63-characters-${'x'.repeat(39)}=Registry.Example.com:443/a/b/c/d:${'x'.repeat(128)}@${digest}`,
];

const notAnImage = (shown: string): string =>
  `'${shown}' is not an image. Write name=reference, with a name from environment.images in eph.yaml and a tag or a digest, such as api=ghcr.io/acme/api:1a2b3c4.`;

const hostileImages = [
  'api:7',
  'api=',
  'api=api',
  'api=api:',
  '=api:7',
  'Api=api:7',
  '-api=api:7',
  `${'x'.repeat(64)}=api:7`,
  'api=Acme/api:7',
  'api=../etc:1',
  'api=acme//api:1',
  'api=https://ghcr.io/acme/api:7',
  'api=user:password@ghcr.io/acme/api:7',
  'api=api:-7',
  `api=api:${'x'.repeat(129)}`,
  `api=api@${digest.slice(0, -1)}`,
  'api=api:7 web=web:1',
  'api=$(touch${IFS}x):7',
  'api=api:7`touch x`',
  'api=api:7;touch x',
  '*=*:*',
  '%s%n=api:7',
  '-n',
];

const oneLine = 'The images must be on one line, separated by commas.';
const notACommit = (shown: string): string =>
  `'${shown}' is not a commit. Write its full id: 40 or 64 characters, 0 to 9 and a to f.`;
const notNotes = (shown: string): string => `'${shown}' is not a name for notes. Write one such as eph-images.`;

const refusals: readonly (readonly [variables: Variables, sentence: string])[] = [
  ...hostileImages.map((images) => [{ EPH_IMAGES: images }, notAnImage(images)] as const),
  [{ EPH_IMAGES: 'web=web:1,,api=api:7' }, notAnImage('')],
  [{ EPH_IMAGES: 'web=web:1, ;touch x' }, notAnImage(';touch x')],
  [{ EPH_IMAGES: 'api=größe:7' }, notAnImage('api=gr????e:7')],
  [{ EPH_IMAGES: `${'x'.repeat(100_000)}=api:7` }, notAnImage('x'.repeat(200))],
  [{ EPH_IMAGES: '' }, 'No images are named. Write name=reference, such as api=ghcr.io/acme/api:1a2b3c4.'],
  [{ EPH_IMAGES: 'api=api:7\neph-images: web=web:1' }, oneLine],
  [{ EPH_IMAGES: 'api=api:7\n' }, oneLine],
  [{ EPH_IMAGES: 'api=api:7,\u001b[31mweb=web:1' }, oneLine],
  [{ EPH_IMAGES: 'api=api:7, web=web:1, api=api:8' }, 'The image api is named twice.'],
  ...['', 'HEAD', '1a2b3c4', 'A'.repeat(40), '--help'].map((commit) => [{ EPH_COMMIT: commit }, notACommit(commit)] as const),
  [{ EPH_COMMIT: `${'a'.repeat(40)}\n::add-mask::x` }, notACommit(`${'a'.repeat(40)}?::add-mask::x`)],
  ...['a..b', 'a b', '*', '../heads/main', '/x', 'x.lock'].map((notes) => [{ EPH_NOTES_REF: notes }, notNotes(notes)] as const),
  [{ EPH_NOTES_REF: 'a\nb' }, notNotes('a?b')],
  [
    { EPH_NOTES_REF: 'refs/notes/eph-images' },
    "The notes are named without refs/notes/, as git_note_ref in eph.yaml, and not 'refs/notes/eph-images'.",
  ],
  [
    { EPH_REMOTE: '--upload-pack=touch x' },
    "'--upload-pack=touch x' is not a remote. Write the name of a remote, or an address.",
  ],
  [{ EPH_REMOTE: 'origin\n' }, 'The remote must be on one line.'],
];

const sh: Shell = { command: 'sh', path: process.env.PATH };

describe.concurrent('a job that other jobs overtake again and again', () => {
  it('does not give up, since each of them got something done', async ({ expect }) => {
    await using shop = await Shop.create();
    const others = Array.from({ length: 5 }, (_, job) => `eph-images: job-${job}=x:1`);
    const tips: string[] = [];
    for (const job of others.keys()) {
      await shop.annotate(others.slice(0, job + 1).join('\n'));
      tips.push(await shop.tip());
    }
    await shop.hideUntilPush(tips);
    const run = await writeIn(sh, await shop.checkOut(), { EPH_COMMIT: shop.commit, EPH_IMAGES: 'api=api:7' });
    expect(run).toMatchObject({ code: 0, err: '' });
    expect(await shop.readNote()).toBe([...others, 'eph-images: api=api:7'].join('\n'));
    expect(await shop.countPushes()).toBe(6);
  }, 120_000);
});

describe.concurrent('after five attempts', () => {
  it('the script fails if the remote refuses the push', async ({ expect }) => {
    await using shop = await Shop.create();
    await shop.onPush('echo ::warning::no notes here', 'exit 1');
    const checkout = await shop.checkOut();
    const { code, out, err } = await writeIn(sh, checkout, { EPH_COMMIT: shop.commit, EPH_IMAGES: 'api=api:7' });
    expect({ code, out, pushes: await shop.countPushes() }).toEqual({ code: 1, out: '', pushes: 5 });
    const lines = err.trimEnd().split('\n');
    expect(lines.pop()).toBe(
      `The note could not be written to ${notesRef} of origin in 5 attempts. The job must reach the remote and be allowed to push there.`,
    );
    expect(lines).toContainEqual(expect.stringContaining('::warning::no notes here'));
    expect(lines.filter((line) => !line.startsWith('git: '))).toEqual([]);
    expect(await git(checkout, 'for-each-ref', 'refs/notes')).toBe('');
  }, 120_000);

  it('the script fails if nobody answers, and shows no password', async ({ expect }) => {
    await using shop = await Shop.create();
    const address = `127.0.0.1:${await findUnusedPort()}/shop.git`;
    const { code, out, err } = await writeIn(sh, await shop.checkOut(), {
      EPH_COMMIT: shop.commit,
      EPH_IMAGES: 'api=api:7',
      EPH_REMOTE: `http://ci:hidden@token@${address}`,
      GIT_TRACE: '1',
      GIT_CURL_VERBOSE: '1',
    });
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toContain(`could not be written to ${notesRef} of http://${address} in 5 attempts.`);
    expect(err).not.toMatch(/hidden|token/);
  }, 120_000);
});

describe.concurrent('many jobs at once', () => {
  const jobs = Array.from({ length: 8 }, (_, job) => job);
  const allDone = jobs.map(() => ({ code: 0, err: '' }));

  it('lose no line of the note for one commit', async ({ expect }) => {
    await using shop = await Shop.create();
    const { commit } = shop;
    const checkouts = await Promise.all(jobs.map(() => shop.checkOut('--depth=1')));
    const results = checkouts.map((checkout, job) => writeIn(sh, checkout, { EPH_COMMIT: commit, EPH_IMAGES: `job-${job}=x:1` }));
    expect(await Promise.all(results)).toMatchObject(allDone);
    expect((await shop.readNote()).split('\n').toSorted()).toEqual(jobs.map((job) => `eph-images: job-${job}=x:1`));
  }, 120_000);

  it('lose no note for different commits', async ({ expect }) => {
    await using shop = await Shop.create();
    const checkouts = await Promise.all(jobs.map(() => shop.checkOut()));
    const commits = await Promise.all(jobs.map((job) => shop.push(`job-${job}`)));
    const results = checkouts.map((checkout, job) =>
      writeIn(sh, checkout, { EPH_COMMIT: commits[job], EPH_IMAGES: `api=api:${job}` }),
    );
    expect(await Promise.all(results)).toMatchObject(allDone);
    expect(await Promise.all(commits.map((commit) => shop.readNote(commit)))).toEqual(
      jobs.map((job) => `eph-images: api=api:${job}`),
    );
  }, 120_000);
});

describe.concurrent('a job', () => {
  const write = async (checkout: string, commit: string, images: string, variables: Variables = {}): Promise<Run> =>
    writeIn(sh, checkout, { EPH_COMMIT: commit, EPH_IMAGES: images, ...variables });

  it('leaves the checkout as it was, and runs none of its hooks', async ({ expect }) => {
    await using shop = await Shop.create();
    await shop.annotate('eph-images: web=web:1\n');
    const checkout = await shop.checkOut();
    await writeFile(join(checkout, '.git/hooks/pre-push'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    const look = async () => [
      await git(checkout, 'for-each-ref'),
      await git(checkout, 'config', '--local', '--list'),
      await git(checkout, 'status', '--porcelain'),
      await git(checkout, 'rev-parse', '--is-shallow-repository'),
    ];
    const before = await look();
    expect(await write(checkout, shop.commit, 'api=api:7')).toMatchObject({ code: 0 });
    expect(await look()).toEqual(before);
  });

  it.for([
    ['shallow', ['--depth=1']],
    ['partial', ['--filter=blob:none']],
    ['shallow and partial', ['--depth=1', '--filter=blob:none']],
  ] as const)('works in a %s checkout that does not have the commit', async ([, flags], { expect }) => {
    await using shop = await Shop.create();
    await shop.origin.git('config', 'uploadpack.allowFilter', 'true');
    const other = await shop.push('other');
    await shop.annotate('eph-images: web=web:1\n', other);
    expect(await write(await shop.checkOut(...flags), other, 'api=api:7')).toMatchObject({ code: 0 });
    expect(await shop.readNote(other)).toBe('eph-images: web=web:1\neph-images: api=api:7');
  });

  it('writes to other notes and another remote, in a repository with SHA-256', async ({ expect }) => {
    await using shop = await Shop.create({ format: 'sha256' });
    const checkout = await shop.checkOut('--origin=upstream');
    const options = { EPH_NOTES_REF: 'ci/images', EPH_REMOTE: 'upstream' };
    expect(await write(checkout, shop.commit, 'api=api:7', options)).toMatchObject({ code: 0 });
    expect(await shop.origin.git('notes', '--ref=ci/images', 'show', shop.commit)).toBe('eph-images: api=api:7');
  });

  it('pushes nothing when somebody else has written the same', async ({ expect }) => {
    await using shop = await Shop.create();
    await shop.annotate('thanks  \n\n\n eph-images:web=web:1,db=db:1\r\neph-images: api=api:7\n\n');
    const tip = await shop.tip();
    expect(await write(await shop.checkOut(), shop.commit, 'api=api:7, web=web:1')).toMatchObject({ code: 0 });
    expect(await shop.tip()).toBe(tip);
  });

  it('writes again after another job was faster', async ({ expect }) => {
    await using shop = await Shop.create();
    await shop.annotate('eph-images: web=web:1\n');
    await shop.hideUntilPush([await shop.tip()]);
    expect(await write(await shop.checkOut(), shop.commit, 'api=api:7')).toMatchObject({ code: 0, err: '' });
    expect(await shop.readNote()).toBe('eph-images: web=web:1\neph-images: api=api:7');
    expect(await shop.countPushes()).toBe(2);
  });

  it('needs a checkout', async ({ expect }) => {
    await using shop = await Shop.create();
    const { code, err } = await write(shop.origin.folder, shop.commit, 'api=api:7');
    expect(code).toBe(1);
    expect(err).toContain('This needs a checkout of the repository, such as that of actions/checkout.\n');
  });
});

describe.concurrent.each(['sh', 'bash'])('the script in %s', (command) => {
  describeScript(() => ({ command, path: process.env.PATH }));
});

describeWith(busybox, 'the script in busybox, with the tools of busybox', () => {
  const finding = busybox.find();
  const program = finding.found ? finding.where : '';
  let tools: string;
  beforeAll(async () => {
    tools = await mkdtemp(join(tmpdir(), 'eph-busybox-'));
    for (const tool of ['awk', 'cut', 'grep', 'od', 'sed', 'sh', 'sleep', 'tr']) await symlink(program, join(tools, tool));
  });
  afterAll(async () => rm(tools, { recursive: true, force: true }));
  describeScript(() => ({ command: join(tools, 'sh'), path: `${tools}${delimiter}${process.env.PATH}` }));
});

const findUnusedPort = async (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
