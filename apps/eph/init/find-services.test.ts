import { describe, expect, it } from 'vitest';
import { findServices } from './find-services.ts';
import { type Files, listingOf } from './folder.fake.ts';

const start = '{"scripts":{"start":"node x"}}';
const startWithPackages = '{"scripts":{"start":"node x"},"dependencies":{"a":"1"}}';

/** Name, folder, command and what is installed before. */
const find = async (files: Files): Promise<readonly (readonly unknown[])[]> =>
  (await findServices(listingOf(files))).map(({ name, directory, command, install }) => [
    name,
    directory,
    command,
    install?.command,
  ]);

describe('what can be started', () => {
  it.each<[string, Files, readonly (readonly unknown[])[]]>([
    ['a start script', { 'package.json': start }, [['web', '', 'npm start', undefined]]],
    ['server.js, which npm starts of itself', { 'package.json': '{}', 'server.js': '' }, [['web', '', 'npm start', undefined]]],
    ['packages without a lock', { 'package.json': startWithPackages }, [['web', '', 'npm start', 'npm install']]],
    ['npm', { 'package.json': startWithPackages, 'package-lock.json': '' }, [['web', '', 'npm start', 'npm ci']]],
    [
      'pnpm',
      { 'package.json': startWithPackages, 'pnpm-lock.yaml': '' },
      [['web', '', 'pnpm start', 'pnpm install --frozen-lockfile']],
    ],
    ['yarn', { 'package.json': startWithPackages, 'yarn.lock': '' }, [['web', '', 'yarn start', 'yarn install']]],
    ['bun', { 'package.json': startWithPackages, 'bun.lock': '' }, [['web', '', 'bun run start', 'bun install']]],
    ['a Go program', { 'go.mod': '', 'main.go': '' }, [['web', '', ['go', 'run', '.'], undefined]]],
    [
      'several Go programs',
      { 'go.mod': '', 'cmd/api/main.go': '', 'cmd/job/main.go': '', 'cmd/job/sub/main.go': '' },
      [
        ['api', '', ['go', 'run', './cmd/api'], undefined],
        ['job', '', ['go', 'run', './cmd/job'], undefined],
      ],
    ],
    ['Django', { 'manage.py': '' }, [['web', '', 'python3 manage.py runserver --noreload 127.0.0.1:$PORT', undefined]]],
    [
      'Flask',
      { 'app.py': '', 'requirements.txt': 'requests\nFlask==3\n' },
      [
        [
          'web',
          '',
          '.venv/bin/python -m flask --app app run --port $PORT',
          'python3 -m venv .venv && .venv/bin/pip install -r requirements.txt',
        ],
      ],
    ],
    [
      'FastAPI',
      { 'main.py': '', 'requirements.txt': 'fastapi[standard]\n' },
      [
        [
          'web',
          '',
          '.venv/bin/python -m uvicorn main:app --port $PORT',
          'python3 -m venv .venv && .venv/bin/pip install -r requirements.txt',
        ],
      ],
    ],
    ['a Python program', { 'app.py': '' }, [['web', '', 'python3 app.py', undefined]]],
    ['pages', { 'index.html': '' }, [['web', '', 'python3 -m http.server "$PORT" --bind 127.0.0.1', undefined]]],
    [
      'only the first of many pages',
      { 'a/index.html': '', 'b/index.html': '' },
      [['a', 'a', 'python3 -m http.server "$PORT" --bind 127.0.0.1', undefined]],
    ],
    ['what an image starts', { Dockerfile: 'CMD ["./run", "--all"]' }, [['web', '', ['./run', '--all'], undefined]]],
  ])('is %s', async (_, files, expected) => {
    expect(await find(files)).toStrictEqual(expected);
  });

  it('is every service of a repository that has several', async () => {
    expect(
      await find({ 'package.json': '{}', 'apps/web/package.json': start, 'apps/api/go.mod': '', 'apps/api/main.go': '' }),
    ).toStrictEqual([
      ['api', 'apps/api', ['go', 'run', '.'], undefined],
      ['web', 'apps/web', 'npm start', undefined],
    ]);
  });

  it('is every process of a Procfile, with its packages at hand', async () => {
    const files = { Procfile: 'worker: job\nweb: serve', 'package.json': startWithPackages, 'package-lock.json': '' };
    const intoPath = 'export PATH="$PWD/node_modules/.bin:$PATH"';
    expect(await find(files)).toStrictEqual([
      ['web', '', `${intoPath} && serve`, 'npm ci'],
      ['worker', '', `${intoPath} && job`, 'npm ci'],
    ]);
    const services = await findServices(listingOf(files));
    expect(services.map(({ listens }) => listens)).toStrictEqual([true, false]);
    expect(new Set(services.map(({ install }) => install?.into))).toStrictEqual(new Set(['node_modules']));
  });

  it('finds the lock file of a workspace above', async () => {
    const [service] = await findServices(listingOf({ 'yarn.lock': '', 'apps/web/package.json': startWithPackages }));
    expect(service?.install).toMatchObject({ program: 'yarn', into: 'node_modules', file: 'yarn.lock' });
  });

  it('is nothing below what is started already, nor in tests, examples and documents', async () => {
    const files = { 'package.json': start, 'client/package.json': start, 'index.html': '', Dockerfile: 'CMD x' };
    expect(await find(files)).toStrictEqual([['web', '', 'npm start', undefined]]);
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
    const names = (await findServices(listingOf(files))).map(({ name }) => name);
    expect(names.slice(0, 3).toSorted()).toStrictEqual(['web', 'web-2', 'web-3']);
    for (const name of names) expect(name).toMatch(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/);
    expect(new Set(names).size).toBe(5);
  });
});
