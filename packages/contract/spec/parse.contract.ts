import * as fc from 'fast-check';
import { expect, inject, it } from 'vitest';
import { type Fault, faultLimit, printFault } from './document.ts';
import { type ParsedSpec, parseSpec } from './parse.ts';

declare module 'vitest' {
  interface ProvidedContext {
    fuzzFactor: number;
  }
}

/** Words that only a programmer would understand. */
const jargon =
  /undefined|\[object|ZodError|Invalid (?:input|key|option|string|element|CIDR)|Too (?:small|big)|Unrecognized|: expected |\bat line\b/;

const isOrderly = (fault: Fault, lines: number): boolean =>
  fault.line >= 1 &&
  fault.line <= lines &&
  fault.column >= 1 &&
  /\S/.test(fault.message) &&
  !jargon.test(printFault(fault)) &&
  fault.path.length + fault.message.length < 1500;

const countLines = (bytes: Uint8Array): number => bytes.reduce((count, byte) => (byte === 0x0a ? count + 1 : count), 1);

/** What must hold of every answer: a sound spec, or clear faults that point into the file. */
export const expectOrderly = (parsed: ParsedSpec, bytes: Uint8Array): void => {
  const lines = countLines(bytes);
  const file = 'eph.yaml';
  const faults = parsed.ok ? [...parsed.notices, ...parsed.guards].map((notice) => ({ file, ...notice })) : parsed.faults;
  const disorderly = faults.filter((fault) => !isOrderly(fault, lines));
  if (disorderly.length > 0) expect(disorderly).toEqual([]);
  if (!parsed.ok && (faults.length === 0 || faults.length > faultLimit)) expect(faults).toHaveLength(1);
  if (parsed.triggers?.length === 0) expect(parsed.triggers).not.toEqual([]);
};

/** How many more documents `npm run fuzz` tries than the tests do. */
export const fuzzFactor = inject('fuzzFactor');

/** Whatever the documents are, each gives a spec or clear faults; none crashes or hangs. */
export const describeParsing = (documents: string, arbitrary: fc.Arbitrary<Uint8Array>, count: number): void => {
  const numRuns = count * fuzzFactor;
  it(`${numRuns} ${documents} give a spec or clear faults, and never throw`, { timeout: 60_000 * fuzzFactor }, () => {
    fc.assert(
      fc.property(arbitrary, (bytes) => expectOrderly(parseSpec(bytes), bytes)),
      { numRuns },
    );
  });
};
