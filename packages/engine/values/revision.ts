import { createHash } from 'node:crypto';
import { type JsonValue, type Revision, revision } from '@eph/contract';

/** The same for equal values: the order in a file never changes it. */
export const computeRevision = (body: JsonValue): Revision =>
  revision(createHash('sha256').update(canonical(body)).digest('hex').slice(0, 32));

/** JSON with sorted keys. */
const canonical = (value: JsonValue): string => {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const entries = Object.entries(value as { readonly [key: string]: JsonValue }).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, one]) => `${JSON.stringify(key)}:${canonical(one)}`).join(',')}}`;
};
