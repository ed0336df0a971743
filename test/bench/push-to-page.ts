import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BenchFolder, startEphd, until } from './bench-ephd.ts';
import { atMost, type Figure, median } from './figure.ts';
import { answersWell, freePort, pollMs } from './page.ts';

const rounds = 31;

const spec = `version: "1.0"
name: shop
environment: { name_template: "{ref_name}" }
process:
  services:
    web: { command: ["${process.execPath}", web.mjs], ready: { http: / } }
`;

const service = `import { createServer } from 'node:http';
createServer((_, response) => response.end('good')).listen(Number(process.env.PORT), '127.0.0.1');
`;

/** Starts the service by hand in an existing checkout and polls until it answers. */
const startByHand = async (folder: string): Promise<number> => {
  const port = await freePort();
  const start = performance.now();
  const child = spawn(process.execPath, ['web.mjs'], {
    cwd: folder,
    env: { PATH: process.env['PATH'], PORT: String(port) },
    stdio: 'ignore',
  });
  await until('the service by hand', () => answersWell(port, 'localhost'), pollMs);
  const took = performance.now() - start;
  child.kill('SIGKILL');
  await once(child, 'exit');
  return took;
};

/** From the moment `git push` is done until the page answers through the gateway. */
export const measurePushToPage = async (figure: string): Promise<readonly Figure[]> => {
  using bench = new BenchFolder();
  const copy = join(bench.folder, 'copy');
  mkdirSync(copy);
  bench.git(bench.folder, ['init', '--quiet', '--bare', '--initial-branch=main', bench.origin]);
  bench.git(copy, ['init', '--quiet', '--initial-branch=main']);
  writeFileSync(join(copy, 'eph.yaml'), spec);
  writeFileSync(join(copy, 'web.mjs'), service);
  bench.git(copy, ['add', '--all']);
  bench.git(copy, ['commit', '--quiet', '--message', 'shop']);
  bench.git(copy, ['push', '--quiet', bench.origin, 'main']);
  const data = join(bench.folder, 'data');
  const start = () => startEphd(bench, ['--project', bench.origin, '--data', data, '--port', '0', '--gateway-port', '0']);
  // The first one compiles its own code, and what does that stays in its memory.
  await (await start()).stop();
  const ephd = await start();
  const pushes: number[] = [];
  const baselines: number[] = [];
  try {
    for (let round = 0; round < rounds; round += 1) {
      const name = `shop-preview-${round}`;
      bench.git(copy, ['push', '--quiet', bench.origin, `HEAD:refs/heads/preview/${round}`]);
      const pushed = performance.now();
      await until('the page', () => answersWell(ephd.gatewayPort, `${name}.localhost`), pollMs);
      pushes.push(performance.now() - pushed);
      bench.git(copy, ['push', '--quiet', bench.origin, '--delete', `preview/${round}`]);
      await until('removal', async () => (await ephd.environments()).length === 0);
      baselines.push(await startByHand(copy));
    }
  } finally {
    await ephd.stop();
  }
  return [atMost(figure, median(pushes) / median(baselines), 1.5)];
};
