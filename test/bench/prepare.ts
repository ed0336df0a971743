import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { BenchFolder, startEphd, until } from './bench-ephd.ts';
import { atMost, type Figure, median } from './figure.ts';
import { answersWell, freePort, pollMs } from './page.ts';

const rounds = 5;
const packages = 200;

/** The same for both, with nothing of the checkout of Eph in it. */
const path = '/usr/local/bin:/usr/bin:/bin';

const service = `import { createServer } from 'node:http';
const texts = await Promise.all(Array.from({ length: ${packages} }, async (_, one) => (await import('package-' + one)).default));
createServer((_, response) => response.end(texts.join())).listen(Number(process.env.PORT), '127.0.0.1');
`;

const spec = `version: "1.0"
name: shop
environment: { name_template: "{ref_name}" }
process:
  prepare: npm ci --no-audit --no-fund
  services:
    web: { command: node web.mjs, ready: { http: / } }
`;

/** Serves the packages as a registry does, and writes a repository that needs all of them. */
const createApplication = async (folder: string): Promise<Disposable> => {
  const archives = new Map<string, Buffer>();
  for (let one = 0; one < packages; one += 1) archives.set(`/package-${one}.tgz`, pack(folder, `package-${one}`));
  const server = createServer((request, response) => {
    const archive = archives.get(request.url ?? '');
    response.statusCode = archive === undefined ? 404 : 200;
    response.end(archive);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const dependencies = Object.fromEntries(Array.from({ length: packages }, (_, one) => [`package-${one}`, '1.0.0']));
  const root = { name: 'shop', version: '1.0.0', private: true, dependencies };
  const locked = Object.keys(dependencies).map((name): [string, object] => [
    `node_modules/${name}`,
    {
      version: '1.0.0',
      resolved: `http://127.0.0.1:${port}/${name}.tgz`,
      integrity: `sha512-${createHash('sha512')
        .update(archives.get(`/${name}.tgz`) ?? '')
        .digest('base64')}`,
    },
  ]);
  const lock = { name: 'shop', version: '1.0.0', lockfileVersion: 3, packages: { '': root, ...Object.fromEntries(locked) } };
  const copy = join(folder, 'copy');
  mkdirSync(copy);
  writeFileSync(join(copy, 'package.json'), JSON.stringify(root));
  writeFileSync(join(copy, 'package-lock.json'), JSON.stringify(lock));
  writeFileSync(join(copy, 'web.mjs'), service);
  writeFileSync(join(copy, 'eph.yaml'), spec);
  return { [Symbol.dispose]: () => void server.close() };
};

const pack = (folder: string, name: string): Buffer => {
  const source = join(folder, 'packages', name, 'package');
  mkdirSync(source, { recursive: true });
  writeFileSync(join(source, 'package.json'), JSON.stringify({ name, version: '1.0.0', type: 'module', main: 'index.js' }));
  for (let file = 0; file < 10; file += 1) writeFileSync(join(source, `part-${file}.js`), `export const part = ${file};\n`);
  writeFileSync(join(source, 'index.js'), `export default '${name}';\n`);
  return execFileSync('tar', ['-C', join(folder, 'packages', name), '-czf', '-', 'package']);
};

const installByHand = async (folder: string, cache: string): Promise<number> => {
  const place = join(folder, 'by-hand');
  cpSync(join(folder, 'copy'), place, { recursive: true, filter: (one) => !one.endsWith('.git') });
  const port = await freePort();
  const env = { PATH: path, HOME: folder, npm_config_cache: cache, PORT: String(port) };
  const start = performance.now();
  const child = spawn('sh', ['-c', 'npm ci --no-audit --no-fund && exec node web.mjs'], { cwd: place, env, stdio: 'ignore' });
  await until('the service by hand', () => answersWell(port, 'localhost'), pollMs);
  const took = performance.now() - start;
  child.kill('SIGKILL');
  await once(child, 'exit');
  rmSync(place, { recursive: true });
  return took;
};

/** From a push until the page answers, with `npm ci` in between, without and with what was fetched before. */
export const measurePrepare = async (): Promise<readonly Figure[]> => {
  using bench = new BenchFolder();
  using _registry = await createApplication(bench.folder);
  const copy = join(bench.folder, 'copy');
  bench.git(bench.folder, ['init', '--quiet', '--bare', '--initial-branch=main', bench.origin]);
  bench.git(copy, ['init', '--quiet', '--initial-branch=main']);
  bench.git(copy, ['add', '--all']);
  bench.git(copy, ['commit', '--quiet', '--message', 'shop']);
  bench.git(copy, ['push', '--quiet', bench.origin, 'main']);
  const data = join(bench.folder, 'data');
  const args = ['--project', bench.origin, '--data', data, '--port', '0', '--gateway-port', '0'];
  const ephd = await startEphd({ env: { ...bench.env, PATH: path } }, args);
  const times = { cold: { push: [] as number[], hand: [] as number[] }, warm: { push: [] as number[], hand: [] as number[] } };
  const cache = join(bench.folder, 'cache-by-hand');
  const push = async (name: string): Promise<number> => {
    bench.git(copy, ['push', '--quiet', bench.origin, `HEAD:refs/heads/preview/${name}`]);
    const pushed = performance.now();
    await until('the page', () => answersWell(ephd.gatewayPort, `shop-preview-${name}.localhost`), pollMs);
    return performance.now() - pushed;
  };
  try {
    for (let round = 0; round < rounds; round += 1) {
      rmSync(cache, { recursive: true, force: true });
      rmSync(findCache(data), { recursive: true, force: true });
      times.cold.push.push(await push(`${round}`));
      times.cold.hand.push(await installByHand(bench.folder, cache));
      writeFileSync(join(copy, 'note.txt'), `${round}`);
      bench.git(copy, ['add', '--all']);
      bench.git(copy, ['commit', '--quiet', '--message', 'next']);
      times.warm.push.push(await push(`${round}-next`));
      times.warm.hand.push(await installByHand(bench.folder, cache));
      for (const name of [`${round}`, `${round}-next`])
        bench.git(copy, ['push', '--quiet', bench.origin, '--delete', `preview/${name}`]);
      await until('removal', async () => (await ephd.environments()).length === 0);
    }
  } finally {
    await ephd.stop();
  }
  const { cold, warm } = times;
  return [
    atMost('prepare-cold', median(cold.push) / median(cold.hand), 1.3),
    atMost('prepare-warm', median(warm.push) / median(warm.hand), 1.3),
  ];
};

const findCache = (data: string): string => join(data, 'process', '.caches', 'shop');
