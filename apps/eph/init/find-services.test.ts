import { describe, expect, it } from 'vitest';
import { findServices } from './find-services.ts';
import { type Files, listingOf } from './folder.fake.ts';

const start = '{"scripts":{"start":"node x"}}';
const startWithPackages = '{"scripts":{"start":"node x"},"dependencies":{"a":"1"}}';

const pip = 'python3 -m venv .venv && .venv/bin/pip install';

/** Name, folder, command and what runs before. */
const find = async (files: Files): Promise<readonly (readonly unknown[])[]> =>
  (await findServices(listingOf(files))).services.map(({ name, directory, command, steps }) => [
    name,
    directory,
    command,
    ...steps.map((step) => (step.directory === directory ? step.command : [step.directory, step.command])),
  ]);

const withScripts = (scripts: Readonly<Record<string, string>>, more: Readonly<Record<string, unknown>> = {}): string =>
  JSON.stringify({ scripts, ...more });

describe('what can be started', () => {
  it.each<[string, Files, readonly (readonly unknown[])[]]>([
    ['a start script', { 'package.json': start }, [['web', '', 'npm start']]],
    ['server.js, which npm starts of itself', { 'package.json': '{}', 'server.js': '' }, [['web', '', 'npm start']]],
    ['packages without a lock', { 'package.json': startWithPackages }, [['web', '', 'npm start', 'npm install']]],
    ['npm', { 'package.json': startWithPackages, 'package-lock.json': '' }, [['web', '', 'npm start', 'npm ci']]],
    [
      'pnpm',
      { 'package.json': startWithPackages, 'pnpm-lock.yaml': '' },
      [['web', '', 'pnpm start', 'pnpm install --frozen-lockfile']],
    ],
    ['yarn', { 'package.json': startWithPackages, 'yarn.lock': '' }, [['web', '', 'yarn start', 'yarn install']]],
    ['bun', { 'package.json': startWithPackages, 'bun.lock': '' }, [['web', '', 'bun run start', 'bun install']]],
    ['a Go program', { 'go.mod': '', 'main.go': '' }, [['web', '', './bin/server', 'go build -o bin/server .']]],
    [
      'several Go programs',
      { 'go.mod': '', 'cmd/api/main.go': '', 'cmd/my job/main.go': '', 'cmd/api/sub/main.go': '' },
      [
        ['api', '', './bin/api', 'go build -o bin/api ./cmd/api'],
        ['my-job', '', "'./bin/my job'", "go build -o 'bin/my job' './cmd/my job'"],
      ],
    ],
    [
      'a Go program that takes an address',
      { 'go.mod': '', 'main.go': 'flag.String("addr", ":8080", "")' },
      [['web', '', './bin/server -addr 127.0.0.1:$PORT', 'go build -o bin/server .']],
    ],
    ['Django', { 'manage.py': '' }, [['web', '', 'python3 manage.py runserver --noreload 127.0.0.1:$PORT']]],
    [
      'Flask',
      { 'app.py': '', 'requirements.txt': 'requests\nFlask==3\n' },
      [['web', '', '.venv/bin/python -m flask --app app run --port $PORT', `${pip} -r requirements.txt`]],
    ],
    [
      'FastAPI',
      { 'main.py': '', 'requirements.txt': 'fastapi[standard]\n' },
      [['web', '', '.venv/bin/python -m uvicorn main:app --port $PORT', `${pip} -r requirements.txt`]],
    ],
    ['a Python program', { 'app.py': '' }, [['web', '', 'python3 app.py']]],
    ['a Python program with a flag', { 'app.py': "parser.add_argument('--port')" }, [['web', '', 'python3 app.py --port $PORT']]],
    ['pages', { 'index.html': '' }, [['web', '', 'python3 -m http.server "$PORT" --bind 127.0.0.1']]],
    [
      'only the first of many pages',
      { 'a/index.html': '', 'b/index.html': '' },
      [['a', 'a', 'python3 -m http.server "$PORT" --bind 127.0.0.1']],
    ],
    ['what an image starts', { Dockerfile: 'CMD ["./run", "--all"]' }, [['web', '', ['./run', '--all']]]],
    ['what an image starts, on PORT', { Dockerfile: 'CMD uvicorn a:b' }, [['web', '', 'uvicorn a:b --port $PORT']]],
  ])('is %s', async (_, files, expected) => {
    expect(await find(files)).toStrictEqual(expected);
  });

  it('is every service of a repository that has several', async () => {
    expect(
      await find({ 'package.json': '{}', 'apps/web/package.json': start, 'apps/api/go.mod': '', 'apps/api/main.go': '' }),
    ).toStrictEqual([
      ['api', 'apps/api', './bin/server', 'go build -o bin/server .'],
      ['web', 'apps/web', 'npm start'],
    ]);
  });

  it('is every process of a Procfile, with its packages at hand', async () => {
    const files = { Procfile: 'worker: job\nweb: serve', 'package.json': startWithPackages, 'package-lock.json': '' };
    const intoPath = 'export PATH="$PWD/node_modules/.bin:$PATH"';
    expect(await find(files)).toStrictEqual([
      ['web', '', `${intoPath} && serve`, 'npm ci'],
      ['worker', '', `${intoPath} && job`, 'npm ci'],
    ]);
    const { services } = await findServices(listingOf(files));
    expect(services.map(({ listens }) => listens)).toStrictEqual([true, false]);
  });

  it('is a process of a Procfile, after what a platform does before it', async () => {
    const files = {
      Procfile: 'web: bin/rails server\nclock: bin/rails clock',
      'package.json': withScripts({ build: 'x' }),
      'requirements.txt': '',
      'go.mod': '',
    };
    const before = [`${pip} -r requirements.txt`, 'npm run build', 'go build -o bin/ ./...'];
    expect(await find(files)).toStrictEqual([
      ['web', '', 'export PATH="$PWD/.venv/bin:$PATH" && bin/rails server -p $PORT', ...before],
      ['clock', '', 'export PATH="$PWD/.venv/bin:$PATH" && bin/rails clock', ...before],
    ]);
  });

  it('is nothing below what is started already, nor in tests, examples and documents', async () => {
    const files = { 'package.json': start, 'client/package.json': start, 'index.html': '', Dockerfile: 'CMD x' };
    expect(await find(files)).toStrictEqual([['web', '', 'npm start']]);
    expect(
      await find({ 'docs/package.json': start, 'examples/a/main.go': '', 'examples/a/go.mod': '', 'test/index.html': '' }),
    ).toStrictEqual([]);
  });

  it('has names that differ and are DNS labels', async () => {
    const files = {
      'a/web/package.json': start,
      'b/web/package.json': start,
      'c/Web/package.json': start,
      'c/_/package.json': start,
      'c/店/package.json': start,
    };
    const names = (await findServices(listingOf(files))).services.map(({ name }) => name);
    expect(names.slice(0, 3).toSorted()).toStrictEqual(['web', 'web-2', 'web-3']);
    for (const name of names) expect(name).toMatch(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/);
    expect(new Set(names).size).toBe(5);
    // Beside `process.prepare` no service can have this name.
    expect((await find({ 'prepare/package.json': start }))[0]?.[0]).toBe('prepare-2');
  });
});

describe('of a package without a start script', () => {
  const main = JSON.stringify({ main: './app/index.js', scripts: { dev: 'nodemon app' } });

  it.each<[string, Files, readonly (readonly unknown[])[]]>([
    ['the main file is started', { 'package.json': main, 'app/index.js': '' }, [['web', '', 'node app/index.js']]],
    [
      'the main file is preferred to pages beside it',
      { 'package.json': main, 'app/index.js': '', 'index.html': '' },
      [['web', '', 'node app/index.js']],
    ],
    [
      'the dev script is preferred to pages beside it',
      { 'package.json': withScripts({ dev: 'nodemon x' }), 'index.html': '' },
      [['web', '', 'npm run dev']],
    ],
    ['the dev script is started if the main file is not there', { 'package.json': main }, [['web', '', 'npm run dev']]],
    [
      'a start script comes first',
      { 'package.json': withScripts({ dev: 'x', start: 'y' }, { main: 'a.js' }), 'a.js': '' },
      [['web', '', 'npm start']],
    ],
    [
      'a file with a usual name is started if it listens',
      { 'package.json': '{}', 'src/index.js': 'app.listen(process.env.PORT)' },
      [['web', '', 'node src/index.js']],
    ],
    ['such a file is not started otherwise', { 'package.json': '{}', 'index.js': 'module.exports = 1' }, []],
    ['the main file of a library is not started', { 'package.json': '{"main":"a.js","files":["a.js"]}', 'a.js': '' }, []],
    ['a script that only builds is not started', { 'package.json': withScripts({ dev: 'tsc --watch' }) }, []],
  ])('%s', async (_, files, expected) => {
    expect(await find(files)).toStrictEqual(expected);
  });
});

describe('a script of a package', () => {
  it.each<[string, Files, readonly (readonly unknown[])[]]>([
    [
      'gets the port as arguments',
      { 'package.json': withScripts({ dev: 'vite' }) },
      [['web', '', 'npm run dev -- --port $PORT --host 127.0.0.1']],
    ],
    [
      'gets them from yarn',
      { 'package.json': withScripts({ start: 'next start' }), 'yarn.lock': '' },
      [['web', '', 'yarn start -p $PORT']],
    ],
    [
      'that starts what was built comes after the build',
      { 'package.json': withScripts({ start: 'node dist/server.js', build: 'tsc' }) },
      [['web', '', 'npm start', 'npm run build']],
    ],
    [
      'for pages has one for the API beside it',
      { 'package.json': withScripts({ dev: 'vite', api: 'node api.js', test: 'x' }) },
      [
        ['web', '', 'npm run dev -- --port $PORT --host 127.0.0.1'],
        ['api', '', 'npm run api'],
      ],
    ],
    [
      'that starts several is taken apart',
      { 'package.json': withScripts({ dev: 'concurrently "npm:dev:*"', 'dev:server': 'node x', 'dev:client': 'vite' }) },
      [
        ['client', '', 'npm run dev:client -- --port $PORT --host 127.0.0.1'],
        ['server', '', 'npm run dev:server'],
      ],
    ],
  ])('%s', async (_, files, expected) => {
    expect(await find(files)).toStrictEqual(expected);
  });
});

describe('a workspace', () => {
  const members = {
    'packages/web/package.json': withScripts({ dev: 'vite' }),
    'packages/api/package.json': '{"main":"index.js"}',
    'packages/api/index.js': 'app.listen(process.env.PORT)',
    'packages/shared/package.json': '{"main":"index.js"}',
    'packages/shared/index.js': 'module.exports = {}',
    'packages/types/package.json': '{"types":"index.d.ts"}',
  };

  it.each<[string, Files, string]>([
    ['npm', { 'package.json': '{"workspaces":["packages/*"],"scripts":{"start":"x"}}', 'package-lock.json': '' }, 'npm ci'],
    ['yarn', { 'package.json': '{"workspaces":{"packages":["packages/**"]}}', 'yarn.lock': '' }, 'yarn install'],
    [
      'pnpm',
      { 'package.json': '{}', 'pnpm-workspace.yaml': "packages:\n  - 'packages/*'\n", 'pnpm-lock.yaml': '' },
      'pnpm install --frozen-lockfile',
    ],
  ])('of %s is installed once, and each program in it is a service', async (program, root, command) => {
    const separator = program === 'npm' ? '-- ' : '';
    expect(await find({ ...root, ...members })).toStrictEqual([
      ['api', 'packages/api', 'node index.js', ['', command]],
      ['web', 'packages/web', `${program} run dev ${separator}--port $PORT --host 127.0.0.1`, ['', command]],
    ]);
  });

  it('without programs is started by its root', async () => {
    const files = { 'package.json': '{"workspaces":["a"],"scripts":{"start":"x"}}', 'a/package.json': '{}' };
    expect(await find(files)).toStrictEqual([['web', '', 'npm start', 'npm install']]);
  });

  it('leaves other packages their own installation', async () => {
    const files = {
      'package.json': startWithPackages.replace('start', 'test'),
      'package-lock.json': '',
      'web/package.json': startWithPackages,
    };
    expect(await find(files)).toStrictEqual([['web', 'web', 'npm start', 'npm install']]);
    expect(await find({ 'yarn.lock': '', 'web/package.json': startWithPackages })).toStrictEqual([
      ['web', 'web', 'yarn start', ['', 'yarn install']],
    ]);
  });
});

describe('a Python project', () => {
  const project = (...needs: readonly string[]): string =>
    `[project]\nname = "shop"\ndependencies = ${JSON.stringify(needs)}\n\n[project.scripts]\nshop = "shop:main"\n`;

  it.each<[string, Files, readonly unknown[]]>([
    [
      'with an ASGI application anywhere',
      { 'pyproject.toml': project('fastapi', 'uvicorn[standard]>=0.3'), 'src/shop/web.py': 'service: FastAPI = FastAPI()' },
      ['PYTHONPATH=src .venv/bin/python -m uvicorn shop.web:service --port $PORT', `${pip} .`],
    ],
    [
      'with a Flask application in a package',
      { 'pyproject.toml': project('Flask'), 'shop/__init__.py': 'def create_app():' },
      ['.venv/bin/python -m flask --app shop run --port $PORT', `${pip} .`],
    ],
    ['with a script', { 'pyproject.toml': project(), 'shop.py': 'PORT' }, ['.venv/bin/shop', `${pip} .`]],
    ['with uv', { 'pyproject.toml': project(), 'uv.lock': '' }, ['.venv/bin/shop', 'uv sync --frozen']],
    [
      'with Poetry',
      { 'pyproject.toml': '[tool.poetry.dependencies]\nFlask = "3"\n', 'poetry.lock': '', 'app.py': '' },
      ['.venv/bin/python -m flask --app app run --port $PORT', 'POETRY_VIRTUALENVS_IN_PROJECT=1 poetry install'],
    ],
    ['that only configures tools', { 'pyproject.toml': '[tool.black]\n', 'app.py': '' }, ['python3 app.py']],
  ])('%s', async (_, files, expected) => {
    expect(await find(files)).toStrictEqual([['web', '', ...expected]]);
  });
});

describe('what is not found', () => {
  const noStart = (place: string, name: string): string =>
    `No start command was found in ${place}. Write one under process.services.${name}.command.`;

  it.each<[string, Files, readonly string[]]>([
    [
      'a program of a workspace',
      { 'package.json': '{"workspaces":["packages/*"]}', 'packages/web/package.json': '{}', 'packages/api/package.json': start },
      [noStart('packages/web', 'web')],
    ],
    [
      'no library',
      {
        'package.json': '{"workspaces":["packages/*"]}',
        'packages/shared/package.json': '{"exports":"./a.js"}',
        'packages/api/package.json': start,
      },
      [],
    ],
    ['the only program', { 'package.json': '{"devDependencies":{"a":"1"}}', 'index.html': '' }, [noStart('this folder', 'web')]],
    ['a Python program', { 'jobs/pyproject.toml': '[project]\n' }, [noStart('jobs', 'jobs')]],
    [
      'an installation',
      { Procfile: 'web: x', Gemfile: '' },
      ['No installation is known for Gemfile. Write one under process.prepare, such as `bundle install`.'],
    ],
    ['nothing', { 'package.json': start, 'web/package.json': startWithPackages }, []],
  ])('is %s', async (_, files, expected) => {
    expect((await findServices(listingOf(files))).missing).toStrictEqual(expected);
  });
});
