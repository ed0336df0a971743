import { rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';

const here = import.meta.dirname;
const fromContract = createRequire(import.meta.resolve('@eph/contract'));

/** Bundles the CLI into JavaScript without dependencies. Returns the file to run. */
export const buildCli = async (folder: string): Promise<string> => {
  await rm(folder, { recursive: true, force: true });
  await build({
    entryPoints: [join(here, 'main.ts')],
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    // Commands are separate chunks, so that `eph version` loads neither commander nor the schemas.
    splitting: true,
    chunkNames: 'chunks/[name]-[hash]',
    format: 'esm',
    platform: 'node',
    // The build of `yaml` for Node uses `require`, which a bundle of ES modules does not have.
    alias: { yaml: join(dirname(fromContract.resolve('yaml/package.json')), 'browser/index.js') },
    target: 'node24',
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'none',
    logLevel: 'warning',
  });
  return join(folder, 'main.mjs');
};

if (import.meta.main) process.stdout.write(`${await buildCli(join(here, 'dist'))}\n`);
