import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter } from 'yaml';
import type { z } from 'zod';
import { describeIssues } from './issues.ts';
import { aliasLimit, type Flaw, joinPath, locate, parseYaml, type Step } from './yaml-text.ts';

/** A mistake in a file, with the place to look at. Lines and columns start at 1. */
export interface Fault {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** Dotted path of the key, empty for the whole document. */
  readonly path: string;
  readonly message: string;
}

export interface Place {
  readonly line: number;
  readonly column: number;
}

/** Where keys are in a file. Found on demand by reading the kept text again: few ever ask, and the index would be larger than the file. */
export interface Places {
  readonly file: string;
  at(path: readonly (string | number)[]): Place | undefined;
}

/** Something to know about a file without faults. */
export interface Notice extends Place {
  readonly path: string;
  /** The end of a sentence that begins with the path. */
  readonly message: string;
}

export interface Remark {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

export type ParsedDocument<T> =
  | { readonly ok: true; readonly value: T; readonly places: Places; readonly notices: readonly Notice[] }
  | {
      readonly ok: false;
      readonly faults: readonly Fault[];
      /** The plain value, when the text could be turned into one at all: its shape is anything, and keys may have been given twice. */
      readonly raw?: unknown;
    };

export interface DocumentForm<S extends z.ZodType> {
  readonly schema: S;
  readonly limitBytes: number;
  readonly empty: string;
  /** Numbers and truth values below these paths keep their written text: `1.0` stays `1.0`. A step `*` stands for any key or index. */
  readonly verbatim?: readonly (readonly string[])[];
  /** Keys without a value in the maps at these paths, however deep, are as good as left out. */
  readonly open?: readonly (readonly string[])[];
  readonly remarks?: (raw: unknown) => readonly Remark[];
}

/** What is wrong beyond this many faults is no help to anybody. */
export const faultLimit = 50;

export const printFault = (fault: Fault): string =>
  `${fault.file}:${fault.line}:${fault.column}: ${fault.path === '' ? '' : `${fault.path}: `}${fault.message}`;

/** Turns the bytes of a file into a value or into every fault in it. Never throws, whatever the bytes are. */
export const parseDocument = <S extends z.ZodType>(
  bytes: Uint8Array,
  file: string,
  form: DocumentForm<S>,
): ParsedDocument<z.output<S>> => {
  const lines = new LineCounter();
  const refuse = (flaws: readonly Flaw[]) => ({ ok: false, faults: toFaults(file, flaws, lines) }) as const;
  const refuseWhole = (message: string) => refuse([{ offset: 0, path: '', message }]);
  if (bytes.byteLength > form.limitBytes)
    return refuseWhole(`the file has ${bytes.byteLength} bytes; at most ${form.limitBytes} are read`);
  const text = decode(bytes);
  if (text === undefined) return refuseWhole('the file is not valid UTF-8; save it as UTF-8');
  const { document, flaws } = parseYaml(text, lines);
  if (document === undefined) return refuse(flaws);
  for (const path of form.verbatim ?? []) keepAsWritten(document.contents, path);
  const raw = toValue(document);
  if (raw === undefined && flaws.length > 0) return refuse(flaws);
  if (raw === undefined) return refuseWhole(`aliases repeat a part of the file more than ${aliasLimit} times`);
  if (document.contents === null || raw === null) return refuseWhole(form.empty);
  for (const path of form.open ?? []) dropEmpty(raw, path);
  const result = form.schema.safeParse(raw);
  if (result.success && flaws.length === 0) {
    const notices = (form.remarks?.(raw) ?? []).map((remark) => toNotice(remark, document, lines));
    return { ok: true, value: result.data, places: placesIn(file, text), notices };
  }
  const issues = result.success ? [] : describeIssues(result.error.issues, form.schema, document.contents, raw);
  const known = new Set(flaws.map((flaw) => flaw.path));
  return { ...refuse([...flaws, ...issues.filter((issue) => !known.has(issue.path))]), raw };
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
    // Aliases of nothing are flaws already; otherwise there are too many of them.
    return undefined;
  }
};

const keepAsWritten = (node: unknown, path: readonly string[]): void => {
  const [step, ...rest] = path;
  if (isMap(node)) {
    for (const { key, value } of node.items)
      if (step === undefined || step === '*' || (isScalar(key) && key.value === step)) keepAsWritten(value, rest);
  } else if (isSeq(node)) {
    if (step === undefined || step === '*') for (const item of node.items) keepAsWritten(item, rest);
  } else if (isScalar(node) && step === undefined) {
    if (typeof node.value === 'number' || typeof node.value === 'boolean') node.value = node.source;
  }
};

const dropEmpty = (value: unknown, [step, ...rest]: readonly string[], seen = new Set<unknown>()): void => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
  // Through aliases a map can hold itself.
  if (step === undefined && seen.has(value)) return;
  if (step === undefined) seen.add(value);
  const map = value as { [key: string]: unknown };
  for (const key of Object.keys(map)) {
    if (step !== undefined && step !== '*' && step !== key) continue;
    if (map[key] === null && step !== '*') delete map[key];
    else dropEmpty(map[key], rest, seen);
  }
};

const toFaults = (file: string, flaws: readonly Flaw[], lines: LineCounter): readonly Fault[] => {
  const faults = flaws.map(({ offset, path, message }) => ({ file, ...placeAt(lines, offset), path, message }));
  return faults.toSorted((a, b) => a.line - b.line || a.column - b.column).slice(0, faultLimit);
};

const toNotice = ({ path, message }: Remark, document: Document.Parsed, lines: LineCounter): Notice => {
  const offset = document.contents === null ? 0 : locate(document.contents, path, resolverIn(document)).offset;
  return { path: path.reduce(joinPath, ''), ...placeAt(lines, offset), message };
};

const resolverIn = (document: Document.Parsed) => (node: unknown) => (isAlias(node) ? node.resolve(document) : undefined);

const placeAt = (lines: LineCounter, offset: number): Place => {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(line, 1), column: Math.max(col, 1) };
};

interface ReadAgain {
  readonly document: Document.Parsed;
  readonly lines: LineCounter;
}

const placesIn = (file: string, text: string): Places => {
  // An explanation asks for a hundred places in a row; then none is asked for in days.
  let kept: WeakRef<ReadAgain> | undefined;
  const readAgain = (): ReadAgain | undefined => {
    const known = kept?.deref();
    if (known !== undefined) return known;
    const lines = new LineCounter();
    const { document } = parseYaml(text, lines);
    if (document === undefined) return undefined;
    const fresh = { document, lines };
    kept = new WeakRef(fresh);
    return fresh;
  };
  const at = (path: readonly Step[]): Place | undefined => {
    const read = readAgain();
    const contents = read?.document.contents ?? null;
    if (read === undefined || contents === null) return undefined;
    const found = locate(contents, path, resolverIn(read.document));
    return found.depth === path.length ? placeAt(read.lines, found.offset) : undefined;
  };
  return { file, at };
};
