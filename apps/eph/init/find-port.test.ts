import { describe, expect, it } from 'vitest';
import { findPortArguments, findPortInSources } from './find-port.ts';
import { type Files, listingOf } from './folder.fake.ts';

describe('the port of a command', () => {
  it.each<[string, string | undefined]>([
    ['node server.js --port $PORT', ''],
    ['PORT=3000 node x', ''],
    ['vite', '--port $PORT --host 127.0.0.1'],
    ['vite --open', '--port $PORT --host 127.0.0.1'],
    ['NODE_ENV=development vite dev', '--port $PORT --host 127.0.0.1'],
    ['cross-env A=b C=d npx vite', '--port $PORT --host 127.0.0.1'],
    ['npm run types && vite preview', '--port $PORT --host 127.0.0.1'],
    ['vite build', undefined],
    ['vite && node after.js', undefined],
    ['node api.js & vite', undefined],
    ['node api.js | vite', undefined],
    ['webpack serve --mode development', '--port $PORT --host 127.0.0.1'],
    ['webpack-dev-server', '--port $PORT --host 127.0.0.1'],
    ['webpack', undefined],
    ['astro dev', '--port $PORT --host 127.0.0.1'],
    ['nuxt', '--port $PORT --host 127.0.0.1'],
    ['nuxt build', undefined],
    ['next dev', '-p $PORT'],
    ['next start', '-p $PORT'],
    ['next build', undefined],
    ['react-scripts start', ''],
    ['flask --app shop run', '--port $PORT'],
    ['python -m flask run', '--port $PORT'],
    ['poetry run uvicorn shop:app', '--port $PORT'],
    ['gunicorn shop.wsgi', ''],
    ['bundle exec rails server', '-p $PORT'],
    ['bin/rails s -e production', '-p $PORT'],
    ['bundle exec puma -C config/puma.rb', '-p $PORT'],
    ['python3 manage.py runserver', '127.0.0.1:$PORT'],
    ['python manage.py runserver 0.0.0.0:8000', undefined],
    ['.venv/bin/python -m http.server', '"$PORT" --bind 127.0.0.1'],
    ['python3 -m http.server 8000', undefined],
    ['node server.js', undefined],
    ['viterbi', undefined],
    ['', undefined],
  ])('%j lacks %j', (line, expected) => {
    expect(findPortArguments(line)).toBe(expected);
  });

  it('is found soon in a long line', () => {
    for (const hostile of ['a=b '.repeat(250), 'python '.repeat(140), '/'.repeat(1_000), 'flask'.repeat(200)])
      findPortArguments(hostile);
    expect(findPortArguments('npx '.repeat(200))).toBeUndefined();
  });
});

describe('the port of sources', () => {
  it.each<[string, Files, string, string | undefined]>([
    ['is read', { 'a.js': '', 'lib/b.ts': 'process.env.PORT' }, '', ''],
    ['is read before a flag is used', { 'a.js': "'--port'", 'b.py': 'os.environ["PORT"]' }, '', ''],
    ['is a flag', { 'a.py': "add_argument('--port')" }, '', '--port $PORT'],
    ['is a flag of Go', { 'main.go': 'flag.Int("port", 8080, "")' }, '', '-port $PORT'],
    ['is an address for Go', { 'main.go': 'flag.String("listen", ":8080", "")' }, '', '-listen 127.0.0.1:$PORT'],
    ['is not read by tests', { 'a.test.js': 'PORT', 'test/b.js': 'PORT', 'test_c.py': 'PORT', 'a.js': 'EXPORT' }, '', undefined],
    ['is not read by other files', { 'README.md': 'PORT' }, '', undefined],
    ['is not read elsewhere', { 'api/a.js': 'PORT', 'web/a.js': '' }, 'web', undefined],
  ])('%s', async (_, files, directory, expected) => {
    expect(await findPortInSources(listingOf(files), directory)).toBe(expected);
  });
});
