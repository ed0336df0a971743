import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { servePackages } from '../parts/package-server.ts';
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

const createApplication = async (folder: string): Promise<Disposable> => {
  const server = await servePackages(
    folder,
    Array.from({ length: packages }, (_, one) => `package-${one}`),
  );
  const copy = join(folder, 'copy');
  mkdirSync(copy);
  for (const [name, text] of Object.entries({ ...server.files, 'web.mjs': service, 'eph.yaml': spec }))
    writeFileSync(join(copy, name), text);
  return server;
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
