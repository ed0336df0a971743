import { type Document, isMap, isScalar, LineCounter } from 'yaml';
import { describeIssues } from './issues.ts';
import { type Spec, specSchema, type Trigger } from './schema.ts';
import { aliasLimit, type Flaw, parseYaml } from './yaml-text.ts';

/** A mistake in `eph.yaml`, with the place to look at. Lines and columns start at 1. */
export interface Fault {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** Dotted path of the key, empty for the whole document. */
  readonly path: string;
  readonly message: string;
}

export type ParsedSpec =
  | { readonly ok: true; readonly spec: Spec; readonly triggers: readonly Trigger[] }
  /**
   * Triggers that the file names and that are sound are known, so that the right environments show the faults. Otherwise they are
   * absent, as they may be misspelt or lost, and nobody can tell whether an environment is wanted.
   */
  | { readonly ok: false; readonly faults: readonly Fault[]; readonly triggers?: readonly Trigger[] };

/** Larger than any real file by far; anything above is a mistake or an attack. */
export const specLimitBytes = 256 * 1024;
const faultLimit = 50;

export const printFault = (fault: Fault): string =>
  `${fault.file}:${fault.line}:${fault.column}: ${fault.path === '' ? '' : `${fault.path}: `}${fault.message}`;

/** Turns the bytes of an `eph.yaml` into a spec or into every fault in it. Never throws, whatever the bytes are. */
export const parseSpec = (bytes: Uint8Array, file = 'eph.yaml'): ParsedSpec => {
  const lines = new LineCounter();
  const refuse = (flaws: readonly Flaw[], triggers?: readonly Trigger[]): ParsedSpec => ({
    ok: false,
    faults: toFaults(file, flaws, lines),
    ...(triggers === undefined ? {} : { triggers }),
  });
  const refuseWhole = (message: string): ParsedSpec => refuse([{ offset: 0, path: '', message }]);
  if (bytes.byteLength > specLimitBytes)
    return refuseWhole(`the file has ${bytes.byteLength} bytes; at most ${specLimitBytes} are read`);
  const text = decode(bytes);
  if (text === undefined) return refuseWhole('the file is not valid UTF-8; save it as UTF-8');
  const { document, flaws } = parseYaml(text, lines);
  if (document === undefined) return refuse(flaws);
  keepVariablesAsWritten(document);
  const value = toValue(document);
  if (value === undefined && flaws.length > 0) return refuse(flaws);
  if (value === undefined) return refuseWhole(`aliases repeat a part of the file more than ${aliasLimit} times`);
  if (document.contents === null || value === null) return refuseWhole('the file is empty; it needs version, name and process');
  const result = specSchema.safeParse(value);
  if (result.success && flaws.length === 0) return { ok: true, spec: result.data, triggers: result.data.triggers };
  const issues = result.success ? [] : describeIssues(result.error.issues, document.contents, value);
  const known = new Set(flaws.map((flaw) => flaw.path));
  return refuse([...flaws, ...issues.filter((issue) => !known.has(issue.path))], readTriggers(value, flaws));
};

const readTriggers = (value: unknown, flaws: readonly Flaw[]): readonly Trigger[] | undefined => {
  const { triggers } = value as { readonly triggers?: unknown };
  if (triggers === undefined || flaws.some((flaw) => flaw.path.startsWith('triggers'))) return undefined;
  return specSchema.shape.triggers.safeParse(triggers).data;
};

const decode = (bytes: Uint8Array): string | undefined => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    // The decoder's only way to say that the bytes are not UTF-8.
    return undefined;
  }
};

const toValue = (document: Document.Parsed): unknown => {
  try {
    return document.toJS({ maxAliasCount: aliasLimit });
  } catch {
    // Aliases of nothing are known as flaws already; otherwise it is their number.
    return undefined;
  }
};

/** The value of a variable is what was written: `1.0` stays `1.0`, and a long number keeps its digits. */
const keepVariablesAsWritten = (document: Document.Parsed): void => {
  const get = (node: unknown, key: string): unknown => (isMap(node) ? node.get(key, true) : undefined);
  const services = get(get(document.contents, 'process'), 'services');
  const owners = [get(document.contents, 'environment'), ...(isMap(services) ? services.items.map((item) => item.value) : [])];
  for (const owner of owners) {
    const variables = get(owner, 'env');
    for (const { value } of isMap(variables) ? variables.items : [])
      if (isScalar(value) && (typeof value.value === 'number' || typeof value.value === 'boolean')) value.value = value.source;
  }
};

const toFaults = (file: string, flaws: readonly Flaw[], lines: LineCounter): readonly Fault[] => {
  const faults = flaws.map(({ offset, path, message }) => {
    const { line, col } = lines.linePos(offset);
    return { file, line: Math.max(line, 1), column: Math.max(col, 1), path, message };
  });
  return faults.toSorted((a, b) => a.line - b.line || a.column - b.column).slice(0, faultLimit);
};
