import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { specJsonSchema } from '@eph/contract';
import { renderApiPage } from './api-page.ts';
import { renderReferencePage } from './reference-page.ts';

/** Writes what is published about `eph.yaml` and the API, from their schemas. */
const root = dirname(import.meta.dirname);
const pages = {
  'schemas/eph.schema.json': `${JSON.stringify(specJsonSchema(), null, 2)}\n`,
  'docs/eph-yaml.md': renderReferencePage(),
  'docs/api.md': renderApiPage(),
};
for (const [path, text] of Object.entries(pages)) {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}
const paths = Object.keys(pages).map((path) => join(root, path));
execFileSync(join(root, 'node_modules', '.bin', 'biome'), ['format', '--write', ...paths], { stdio: 'inherit' });
