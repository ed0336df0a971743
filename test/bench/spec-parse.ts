import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSpec, printFault } from '@eph/contract';
import { parse } from 'yaml';
import { atMost, type Figure, median } from './figure.ts';

const rounds = 40;
const perRound = 25;

/** A file of 200 lines read, checked and given places, over what the YAML library needs to read it into plain values. */
export const measureSpecParse = (): readonly Figure[] => {
  const bytes = readFileSync(join(import.meta.dirname, 'spec-parse.yaml'));
  const text = bytes.toString();
  const parsed = parseSpec(bytes);
  if (!parsed.ok) throw new Error(parsed.faults.map(printFault).join('\n'));
  const ratios: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    // Side by side, so that whatever else the machine does meets both.
    const plain = time(() => void parse(text));
    const ours = time(() => void parseSpec(bytes));
    // The first rounds still warm up.
    if (round >= rounds / 4) ratios.push(ours / plain);
  }
  return [atMost('spec-parse', median(ratios), 3)];
};

const time = (work: () => void): number => {
  const start = performance.now();
  for (let count = 0; count < perRound; count += 1) work();
  return performance.now() - start;
};
