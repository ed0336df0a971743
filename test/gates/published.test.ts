import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseSpec, printFault, specJsonSchema } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { renderApiPage } from '../../docs/api-page.ts';
import { renderReferencePage } from '../../docs/reference-page.ts';
import { repository } from './sandbox.ts';

const read = (path: string): Promise<string> => readFile(join(repository, path), 'utf8');

/** When one of these fails: `node docs/generate.ts`. */
describe('what is published about eph.yaml and the API', () => {
  it('is the schema that files are checked against', async () => {
    expect(JSON.parse(await read('schemas/eph.schema.json'))).toEqual(JSON.parse(JSON.stringify(specJsonSchema())));
  });

  it('is a page with every key of that schema', async () => {
    expect(await read('docs/eph-yaml.md')).toBe(renderReferencePage());
  });

  it('is a page with every route of the API', async () => {
    expect(await read('docs/api.md')).toBe(renderApiPage());
  });

  it('shows a valid example', async () => {
    const [, example = ''] = /```yaml\n([\s\S]*?)```/.exec(await read('docs/eph-yaml.md')) ?? [];
    const parsed = parseSpec(new TextEncoder().encode(example));
    expect(parsed.ok ? parsed.notices : parsed.faults.map(printFault)).toEqual([]);
  });
});
