import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseSpec } from '@eph/contract';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exitCodes } from './exit-codes.ts';
import { type Files, makeFolder, type TemporaryFolder } from './init/folder.fake.ts';
import { type ScriptedPrompter, scriptAnswers } from './prompter.fake.ts';
import { eph, type Result, type SessionOptions } from './terminal.fake.ts';

const init = (folder: TemporaryFolder, args: readonly string[] = [], options: SessionOptions = {}): Promise<Result> =>
  eph(['init', ...args], { folder: folder.path, ...options });

const written = (folder: TemporaryFolder): Promise<string> => readFile(join(folder.path, 'eph.yaml'), 'utf8');

/** The spec, which has no faults. */
const writtenSpec = async (folder: TemporaryFolder) => {
  const parsed = parseSpec(Buffer.from(await written(folder)));
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults));
  return parsed.spec;
};

const initWith = async (files: Files, prompter?: ScriptedPrompter) => {
  await using folder = await makeFolder({ '.git/config': '', ...files });
  const result = await init(folder, [], prompter === undefined ? {} : { prompter });
  return { ...result, spec: await writtenSpec(folder), text: await written(folder) };
};

const start = '{"scripts":{"start":"node x"},"dependencies":{"a":"1"}}';

describe('init without anybody to ask', () => {
  it('proposes what it finds, says why, writes it and says what comes next', async () => {
    await using folder = await makeFolder({
      '.git/config': '',
      'package.json': start,
      'package-lock.json': '',
      'compose.yaml': '',
    });
    const { code, out, err } = await init(folder);
    expect({ code, err }).toStrictEqual({ code: exitCodes.ok, err: '' });
    expect(out).toContain(
      'Found:\n  package.json  start script; packages installed with npm (package-lock.json)\n  compose.yaml  Compose file\n',
    );
    expect(out).toContain('Not on a terminal: all proposals are accepted, as with --yes.\n');
    expect(out).toContain(
      'Not found, to be completed in eph.yaml:\n  Nothing in this folder reads PORT. The service web must listen on that port;',
    );
    expect(out).toMatch(/\nWrote eph\.yaml\.\n\nNot found[^\n]*\n[^\n]*\n\nNext:\n {2}eph config validate\n/);
    expect(out).toContain('  git push origin HEAD:refs/heads/preview/try-eph\n');
    expect(
      await written(folder),
    ).toBe(`# What runs in a temporary environment of this repository. ephd reads it from every commit.
version: "1.0"
name: shop

# Processes on the machine of ephd.
# Also possible here: docker-compose (compose.yaml).
providers:
  primary: process

# Every branch that matches gets an environment for as long as it exists.
triggers:
  - type: git_branch
    patterns: ["preview/**"]

process:
  # Runs once for each commit, before the services.
  prepare: npm ci
  services:
    # package.json: start script
    web:
      # Must listen on the port in $PORT.
      command: npm start
      entry: true
`);
    expect((await writtenSpec(folder)).process).toMatchObject({ prepare: 'npm ci', services: { web: { command: 'npm start' } } });
  });

  it('asks nobody with --yes or --json, even where somebody is', async () => {
    for (const args of [['--yes'], ['--json']]) {
      await using folder = await makeFolder({ 'package.json': start });
      const prompter = scriptAnswers();
      const { code, out } = await init(folder, args, { prompter });
      expect(code).toBe(exitCodes.ok);
      expect(out).not.toContain('Not on a terminal');
      expect(prompter.questions).toStrictEqual([]);
      await writtenSpec(folder);
    }
  });

  it('tells programs what was found and written', async () => {
    await using folder = await makeFolder({ 'compose.yaml': '' });
    const answer = JSON.parse((await init(folder, ['--json'])).out);
    expect(answer).toMatchObject({
      file: 'eph.yaml',
      provider: 'docker-compose',
      found: [{ file: 'compose.yaml', what: 'Compose file' }],
      content: await written(folder),
    });
  });

  it('proposes what is there when nothing can be started as a process, and says what does not work yet', async () => {
    const compose = await initWith({ 'docker-compose.yml': '', 'docker-compose.preview.yml': '' });
    expect(compose.spec).toMatchObject({
      providers: { primary: 'docker-compose' },
      'docker-compose': { compose_files: ['docker-compose.yml', 'docker-compose.preview.yml'] },
    });
    expect(compose.out).toMatch(/note: eph\.yaml:\d+:\d+: .*not available yet/);
    const kustomize = await initWith({ 'k8s/base/kustomization.yaml': '', 'k8s/preview/kustomization.yaml': '' });
    expect(kustomize.spec).toMatchObject({
      providers: { primary: 'kubernetes' },
      kubernetes: { manifests: [{ kustomization: './k8s/preview' }] },
    });
    expect((await initWith({ 'chart/Chart.yaml': '' })).spec.kubernetes?.manifests).toStrictEqual([{ chart: './chart' }]);
    expect((await initWith({ 'k8s/a.yaml': 'kind: Deployment' })).spec.kubernetes?.manifests).toStrictEqual([{ path: './k8s' }]);
    expect((await initWith({ 'Chart.yaml': '' })).spec.kubernetes?.manifests).toStrictEqual([{ chart: '.' }]);
  });

  it('shows the files where nothing says how to start', async () => {
    const { out, spec, text } = await initWith({ 'README.md': '' });
    expect(out).toContain('Found no file that says how to start or deploy this.\n');
    expect(spec.process?.services).toMatchObject({ web: { command: 'python3 -m http.server "$PORT" --bind 127.0.0.1' } });
    expect(text).toContain('# no start command was found; this only serves the files\n');
    expect(out).toContain('  No start command was found. Write one under process.services.web.command.\n');
  });

  it('prefers what deploys an image to the command of that image', async () => {
    const { spec, text } = await initWith({ Dockerfile: 'CMD x', 'chart/Chart.yaml': '' });
    expect(spec.kubernetes?.manifests).toStrictEqual([{ chart: './chart' }]);
    expect(text).toContain('# Also possible here: process.\n');
    expect((await initWith({ 'index.html': '', 'compose.yaml': '' })).spec.providers.primary).toBe('docker-compose');
  });

  it('prepares each folder once, and gives the entry the addresses that it reads', async () => {
    const { spec, out } = await initWith({
      'package.json': '{"workspaces":["packages/*"]}',
      'package-lock.json': '',
      'packages/web/package.json': '{"main":"a.js"}',
      'packages/web/a.js': 'serve(process.env.PORT, process.env.API_URL, process.env.WEB_URL)',
      'packages/api/package.json': '{"main":"a.js"}',
      'packages/api/a.js': 'serve(process.env.PORT, process.env.WEB_URL)',
      'my jobs/go.mod': '',
      'my jobs/main.go': 'os.Getenv("PORT")',
    });
    expect(spec.process).toStrictEqual({
      prepare: "(cd 'my jobs' && go build -o bin/server .) && npm ci",
      services: {
        'my-jobs': { command: './bin/server', directory: 'my jobs' },
        api: { command: 'node a.js', directory: 'packages/api' },
        web: { command: 'node a.js', directory: 'packages/web', entry: true, env: { API_URL: 'outputs/api/url' } },
      },
    });
    expect(out).not.toContain('Not found');
  });

  it('installs the packages of several processes once', async () => {
    const { spec } = await initWith({ Procfile: 'worker: job\nweb: serve', 'package.json': start, 'package-lock.json': '' });
    const intoPath = 'export PATH="$PWD/node_modules/.bin:$PATH"';
    expect(spec.process).toStrictEqual({
      prepare: 'npm ci',
      services: {
        web: { command: `${intoPath} && serve`, entry: true },
        worker: { command: `${intoPath} && job`, ready: { none: true } },
      },
    });
  });

  it('leaves alone what is there already', async () => {
    await using folder = await makeFolder({ 'eph.yaml': 'mine', 'package.json': start });
    const prompter = scriptAnswers();
    const { code, out, err } = await init(folder, [], { prompter });
    expect({ code, out }).toStrictEqual({ code: exitCodes.failure, out: '' });
    expect(err).toContain('eph.yaml already exists.');
    expect(prompter.questions).toStrictEqual([]);
    expect(await written(folder)).toBe('mine');
    expect((await init(folder, ['--force'])).code).toBe(exitCodes.ok);
    await writtenSpec(folder);
  });

  it('writes nothing through a link that leads nowhere', async () => {
    await using folder = await makeFolder({});
    await symlink(join(folder.path, 'elsewhere'), join(folder.path, 'eph.yaml'));
    expect((await init(folder)).code).toBe(exitCodes.failure);
    await rm(join(folder.path, 'eph.yaml'));
    await mkdir(join(folder.path, 'eph.yaml'));
    expect((await init(folder)).err).toContain('already');
    expect((await init(folder, ['--force'])).err).toContain('eph.yaml cannot be written: ');
  });

  it('says where ephd will look for the file', async () => {
    await using folder = await makeFolder({ '.git/config': '', 'deep/below/file': '' });
    const inside = { ...folder, path: join(folder.path, 'deep/below') } as TemporaryFolder;
    expect((await init(inside)).out).toContain('from the root of the repository, which is ../...');
    await rm(join(folder.path, '.git'), { recursive: true });
    expect((await init(inside, ['--force'])).out).toContain('not in a Git repository');
  });

  it('needs no ephd, not even a sensible address of one', async () => {
    await using folder = await makeFolder({});
    expect((await init(folder, [], { variables: { EPH_SERVER: 'nonsense' } })).code).toBe(exitCodes.ok);
  });
});

describe('init with somebody who answers', () => {
  const files: Files = {
    'web/package.json': start,
    'api/go.mod': '',
    'api/main.go': '',
    'compose.yaml': '',
    'k8s/base/kustomization.yaml': '',
    'k8s/dev/kustomization.yaml': '',
  };

  it('asks what cannot be seen and writes the answers', async () => {
    const prompter = scriptAnswers({
      'name of the project': 'market',
      'belong in an environment': ['api', 'web'],
      'gets the traffic': 'web',
      'path answers': '/healthz',
      'Which branches': 'demo/*',
    });
    const { spec, out } = await initWith(files, prompter);
    expect(spec).toMatchObject({
      name: 'market',
      providers: { primary: 'process' },
      triggers: [{ type: 'git_branch', patterns: ['demo/*'] }],
      process: {
        prepare: '(cd api && go build -o bin/server .) && (cd web && npm install)',
        services: {
          api: { command: './bin/server', directory: 'api' },
          web: { command: 'npm start', directory: 'web', entry: true, ready: { http: '/healthz' } },
        },
      },
    });
    expect(out).toContain('git push origin HEAD:refs/heads/demo/try-eph');
    expect(prompter.questions).toHaveLength(7);
  });

  it('asks no more than that', async () => {
    const prompter = scriptAnswers();
    await initWith({ 'package.json': start }, prompter);
    expect(prompter.questions.map((question) => question.split('?')[0])).toStrictEqual([
      'What is the name of the project',
      'Which path answers when the service is ready, such as /healthz',
      'Which branches get an environment',
      'Write this to eph.yaml',
    ]);
  });

  it('takes another provider', async () => {
    expect((await initWith(files, scriptAnswers({ 'Which provider': 'docker-compose' }))).spec.providers.primary).toBe(
      'docker-compose',
    );
    const kubernetes = await initWith(
      files,
      scriptAnswers({ 'Which provider': 'kubernetes', 'Which of these describes': 'k8s/base' }),
    );
    expect(kubernetes.spec.kubernetes?.manifests).toStrictEqual([{ kustomization: './k8s/base' }]);
    const own = scriptAnswers({ 'Which provider': 'process', 'Which command': './run "$PORT" # on {port}' });
    const process = await initWith({ 'compose.yaml': '' }, own);
    expect(process.spec.process?.services).toMatchObject({ web: { command: './run "$PORT" # on {port}' } });
  });

  it('writes nothing when the answer is no', async () => {
    await using folder = await makeFolder({ 'package.json': start });
    const { code, err } = await init(folder, [], { prompter: scriptAnswers({ 'Write this': false }) });
    expect({ code, err }).toStrictEqual({ code: exitCodes.failure, err: 'eph: Nothing was written.\n' });
    await expect(written(folder)).rejects.toThrow('ENOENT');
  });

  it('does not overwrite what somebody else wrote in the meantime', async () => {
    await using folder = await makeFolder({ 'package.json': start });
    const prompter = scriptAnswers();
    const confirm = async (): Promise<boolean> => {
      await writeFile(join(folder.path, 'eph.yaml'), 'theirs');
      return true;
    };
    expect((await init(folder, [], { prompter: { ...prompter, confirm } })).err).toContain('already');
    expect(await written(folder)).toBe('theirs');
  });

  it.each([
    ['name of the project', 'My Shop'],
    ['path answers', 'healthz'],
    ['Which branches', ''],
    ['Which branches', 'a b'],
    ['Which branches', 'demo/{a,b}'],
  ])('to "%s" refuses %j', async (question, answer) => {
    await expect(initWith({ 'package.json': start }, scriptAnswers({ [question]: answer }))).rejects.toThrow('ENOENT');
  });
});

describe('whatever is in a folder', () => {
  const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 30 }), fc.string({ maxLength: 30 }));
  const known = [
    [
      'package.json',
      fc.oneof(
        fc.constant(start),
        fc
          .record({ scripts: fc.dictionary(fc.constantFrom('start', 'dev', 'build', 'api', 'dev:client'), text), main: text })
          .map((one) => JSON.stringify(one)),
        fc.record({ workspaces: fc.array(text) }).map((one) => JSON.stringify(one)),
      ),
    ],
    ['package-lock.json', fc.constant('')],
    ['pnpm-lock.yaml', fc.constant('')],
    ['requirements.txt', fc.constantFrom('flask', 'fastapi', '')],
    ['pyproject.toml', text.map((one) => `[project]\ndependencies = ["flask", "${one}"]\n[project.scripts]\n${one} = "x"\n`)],
    ['prepare/server.py', fc.constant('API_URL')],
    [
      'Procfile',
      fc
        .array(fc.tuple(text, text), { maxLength: 4 })
        .map((lines) => `web: a\n${lines.map(([a, b]) => `${a}: ${b}`).join('\n')}`),
    ],
    [
      'Dockerfile',
      fc.oneof(
        text.map((one) => `CMD ${one}`),
        fc.array(text).map((list) => `ENTRYPOINT ${JSON.stringify(list)}`),
      ),
    ],
    ['go.mod', fc.constant('')],
    ['main.go', fc.constant('')],
    ['cmd/a b/main.go', fc.constant('')],
    ['manage.py', fc.constant('')],
    ['app.py', fc.constant('')],
    ['index.html', fc.constant('')],
    ['compose.yaml', text],
    ['docker-compose.preview.yml', fc.constant('')],
    ['kustomization.yaml', text],
    ['Chart.yaml', text],
    ['web.yaml', fc.constant('kind: Deployment')],
  ] as const;
  const folderName = fc.oneof(
    fc.constantFrom(
      '',
      'web',
      'api',
      'k8s',
      'deploy',
      'apps/web',
      'größe',
      'My App',
      'on',
      'true',
      '1.0',
      'a'.repeat(90),
      '-x',
      'a: b',
      '$(x)',
      "it's",
      '#',
      '&a',
      '店',
      '~',
    ),
    fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
      .filter((name) => !/[/\0]|^\.{1,2}$|^\.git$/.test(name) && name.isWellFormed()),
  );
  const entry = fc
    .tuple(folderName, fc.constantFrom(...known))
    .chain(([folder, [name, content]]) => content.map((one) => [folder === '' ? name : `${folder}/${name}`, one] as const));
  const answers = fc.record(
    {
      'Which provider': fc.constantFrom('process', 'docker-compose', 'kubernetes'),
      'Which command': fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }).filter((one) => one.trim() !== ''),
      'path answers': fc.constantFrom('', '/', '/a%20b', '/"\'#:{}'),
    },
    { requiredKeys: [] },
  );

  it('the proposal has no faults and means what was found', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { maxLength: 8 }), answers, async (entries, wanted) => {
        // On a disk that does not tell A from a, or where a file has the name of a folder, the first one stays.
        await using folder = await makeFolder({});
        for (const [path, content] of entries) {
          await mkdir(join(folder.path, path, '..'), { recursive: true }).catch(() => undefined);
          await writeFile(join(folder.path, path), content).catch(() => undefined);
        }
        const prompter = scriptAnswers(wanted);
        const choose: ScriptedPrompter['choose'] = (question) =>
          prompter.choose(question).catch(() => question.choices[0]?.value ?? '');
        const { code, out, err } = await init(folder, [], {
          prompter: { ...prompter, choose },
          isTTY: true,
          variables: { NO_COLOR: '1' },
        });
        expect({ code, err }).toStrictEqual({ code: exitCodes.ok, err: '' });
        expect(out.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
        const { process } = await writtenSpec(folder);
        const own = wanted['Which command'];
        const wasAsked = prompter.questions.some((question) => question.includes('Which command')) && own !== undefined;
        expect(wasAsked ? process?.services['web']?.command : own).toBe(own);
      }),
      { numRuns: 150 },
    );
  }, 120_000);
});
