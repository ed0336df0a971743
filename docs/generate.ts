import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { specJsonSchema } from '@eph/contract';
import { renderReferencePage } from './reference-page.ts';

/** Writes what is published about `eph.yaml`, from its schema. */
const root = dirname(import.meta.dirname);
const schema = join(root, 'schemas', 'eph.schema.json');
mkdirSync(dirname(schema), { recursive: true });
writeFileSync(schema, `${JSON.stringify(specJsonSchema(), null, 2)}\n`);
writeFileSync(join(root, 'docs', 'eph-yaml.md'), renderReferencePage());
execFileSync(join(root, 'node_modules', '.bin', 'biome'), ['format', '--write', schema, join(root, 'docs', 'eph-yaml.md')], {
  stdio: 'inherit',
});
