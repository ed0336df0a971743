import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { go } from './go.ts';
import type { Program } from './part.ts';
import { python } from './python.ts';

/**
 * A small repository in the shape that a framework generates. Its packages are folders in it, which npm, pip and go install as they
 * install others, so no network is needed.
 */
export interface Sample {
  readonly name: string;
  readonly folder: string;
  /** Beside Node and npm, which are always here. */
  readonly needs: Program | undefined;
  /** Services that `eph init` finds, the entry first. */
  readonly services: readonly string[];
  /** What the entry answers, by path. */
  readonly pages: Readonly<Record<string, string>>;
}

const sample = (name: string, services: readonly string[], pages: Sample['pages'], needs?: Program): Sample => ({
  name,
  folder: join(import.meta.dirname, 'samples', name),
  needs,
  services,
  pages,
});

export const samples: readonly Sample[] = [
  sample('node-main', ['web'], { '/': 'Fruit from a package with a main file', '/index.html': 'the program beside them' }),
  sample('node-dev', ['web'], { '/': 'Fruit from a dev script' }),
  sample('vite-api', ['web', 'api'], { '/': 'Fruit from a development server', '/api/fruit': '["apple","pear"]' }),
  sample('procfile', ['web', 'worker', 'clock'], { '/': 'Fruit from a Procfile' }),
  sample('monorepo', ['web', 'api'], { '/': 'Fruit from a workspace', '/fruit': '["apple","pear"]' }),
  sample('flask', ['web'], { '/': 'Fruit from Flask' }, python),
  sample('django', ['web'], { '/': 'Fruit from Django' }, python),
  sample('fastapi', ['web'], { '/': 'Fruit from FastAPI' }, python),
  sample('go-http', ['web'], { '/': 'Fruit from Go' }, go),
];

/** Without what an installation by hand may have left in the folder. */
export const copySample = (one: Sample, to: string): Promise<void> =>
  cp(one.folder, to, { recursive: true, filter: (path) => !/\/(?:node_modules|\.venv|__pycache__|bin\/server)$/.test(path) });
