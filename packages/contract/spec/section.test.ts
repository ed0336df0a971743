import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { printFault } from './document.ts';
import { specJsonSchema } from './json-schema.ts';
import { type ParsedSpec, parseSpec } from './parse.ts';
import { section } from './section.ts';
import { shippedSections } from './sections.ts';

const toy = section({
  name: 'toys',
  schema: z.strictObject({ bricks: z.record(z.string(), z.strictObject({ label: z.string(), size: z.number().optional() })) }),
  available: { bricks: { '*': { label: true } } },
  verbatim: ['bricks.*.label'],
  provider: 'toy',
  components: ({ bricks }) =>
    Object.entries(bricks).map(([name, { label }]) => ({
      name,
      kind: { name: 'Brick' },
      values: { label },
      path: ['bricks', name],
    })),
});
const sections = [...shippedSections, toy];

const parse = (toys: string): ParsedSpec =>
  parseSpec(
    new TextEncoder().encode(
      `version: "1.0"\nname: shop\nprocess: { services: { web: { command: run }, api: { command: run, entry: true } } }\n${toys}`,
    ),
    'eph.yaml',
    sections,
  );

describe('a section that is joined to the table', () => {
  it('is unknown without that', () => {
    const parsed = parseSpec(new TextEncoder().encode('version: "1.0"\nname: shop\nprocess: {}\ntoys: {}\n'));
    expect(!parsed.ok && parsed.faults.map(printFault)).toContainEqual(expect.stringContaining('toys: unknown key'));
  });

  it('gives components beside those of the others', () => {
    const parsed = parse('toys: { bricks: { red: { label: 1.0 } } }\n');
    expect(
      parsed.ok &&
        parsed.components.map(({ name, kind, entry, section: { provider } }) => ({ name, kind: kind.name, entry, provider })),
    ).toEqual([
      { name: 'web', kind: 'Deployment', entry: false, provider: 'process' },
      { name: 'api', kind: 'Deployment', entry: true, provider: 'process' },
      { name: 'red', kind: 'Brick', entry: undefined, provider: 'toy' },
    ]);
    expect(parsed.ok && parsed.components[2]).toMatchObject({ values: { label: '1.0' }, path: ['toys', 'bricks', 'red'] });
    expect(parsed.ok && parsed.choices).toEqual(['process']);
  });

  it('has faults and notices as any other', () => {
    const faulty = parse('toys: { bricks: { red: { lable: x } } }\n');
    expect(!faulty.ok && faulty.faults.map(printFault)).toEqual([
      'eph.yaml:4:26: toys.bricks.red.lable: unknown key; did you mean "label"?',
    ]);
    const shared = parse('toys: { bricks: { web: { label: x } } }\n');
    expect(!shared.ok && shared.faults.map(printFault)).toEqual([
      'eph.yaml:4:19: toys.bricks.web: there is a component web in process already',
    ]);
    const large = parse('toys: { bricks: { red: { label: x, size: 2 } } }\n');
    expect(large.ok && large.notices).toMatchObject([{ path: 'toys.bricks.red.size', line: 4 }]);
  });

  it('is described to editors', () => {
    expect(Object.keys(specJsonSchema(sections).properties ?? {})).toContain('toys');
    expect(Object.keys(specJsonSchema().properties ?? {})).not.toContain('toys');
  });
});
