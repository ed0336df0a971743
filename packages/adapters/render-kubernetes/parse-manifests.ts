import { asList, asMap, type JsonMap, type JsonValue, locate, parseYaml } from '@eph/contract';
import { LineCounter, type Tags } from 'yaml';
import { fault, findFlaw, type Manifest, ManifestFaults, manifestLimits, refuse } from './manifest.ts';

/** What Kubernetes' own tools read: YAML 1.1, in which 0644 is octal, without the times and sexagesimal numbers that they do not know. */
const manifestYaml = {
  version: '1.1',
  merge: true,
  customTags: (tags: Tags): Tags =>
    tags.filter((tag) => typeof tag !== 'object' || (tag.tag !== 'tag:yaml.org,2002:timestamp' && tag.format !== 'TIME')),
} as const;

/** The objects of one text. Throws `ManifestFaults` with everything that is wrong in it. */
export const parseManifests = (
  text: string,
  file: string,
  fileOf?: (document: string) => string | undefined,
): readonly Manifest[] => {
  const documents = splitDocuments(text);
  if (documents.length > manifestLimits.objects) throw tooMany(file);
  const isOurs = fileOf === undefined;
  const faults: ManifestFaults['faults'][number][] = [];
  const manifests = documents.flatMap(({ text: document, line: first }): readonly Manifest[] => {
    if (isBlank(document)) return [];
    const name = fileOf?.(document) ?? file;
    const lines = new LineCounter();
    const lineAt = (offset: number): number => first + Math.max(lines.linePos(offset).line, 1) - 1;
    const { document: parsed, flaws } = parseYaml(document, lines, manifestYaml);
    for (const { offset, message } of flaws) faults.push(fault(name, isOurs ? lineAt(offset) : null, message));
    if (parsed === undefined || flaws.length > 0 || parsed.contents === null) return [];
    const { contents } = parsed;
    const value = toJson(() => parsed.toJS({ maxAliasCount: 100 }) as unknown);
    if (value === undefined) {
      faults.push(fault(name, isOurs ? first : null, 'aliases repeat it too often, or it holds a value that JSON cannot'));
      return [];
    }
    const place =
      (below: readonly (string | number)[]): Manifest['place'] =>
      (path) => {
        const whole = [...below, ...path];
        const found = locate(contents, whole);
        const { line, col } = lines.linePos(found.offset);
        return isOurs && found.depth === whole.length ? [first + line - 1, col] : undefined;
      };
    return listItems(value).flatMap(({ item, path }) => {
      const at = locate(contents, path);
      const line = isOurs ? lineAt(at.offset) : null;
      const flaw = findFlaw(item);
      if (flaw === undefined) return [{ object: asMap(item), file: name, line, place: place(path) }];
      faults.push(fault(name, line, flaw));
      return [];
    });
  });
  if (faults.length > 0) throw new ManifestFaults(faults.slice(0, 50));
  if (manifests.length > manifestLimits.objects) throw tooMany(file);
  return manifests;
};

export const tooMany = (file: string): ManifestFaults =>
  refuse(file, `there are more than ${manifestLimits.objects} objects, which is the most that an environment may have`);

/** At lines that begin with `---`, which nothing else in YAML can hold, not even a text. */
const splitDocuments = (text: string): readonly { readonly text: string; readonly line: number }[] => {
  const documents: { text: string; line: number }[] = [];
  let current: string[] = [];
  let start = 1;
  for (const [index, line] of text.split('\n').entries()) {
    if (/^---(\s|$)/.test(line) && current.length > 0) {
      documents.push({ text: current.join('\n'), line: start });
      current = [];
      start = index + 1;
    }
    current.push(line);
  }
  return [...documents, { text: current.join('\n'), line: start }];
};

const isBlank = (document: string): boolean =>
  document.split('\n').every((line) => /^\s*(#.*)?$|^(---|\.\.\.)\s*(#.*)?$/.test(line));

/** A list of objects in one document, as `kubectl get -o yaml` writes it. */
const listItems = (value: JsonValue): readonly { readonly item: JsonValue; readonly path: readonly (string | number)[] }[] => {
  const { kind, items } = asMap(value);
  if (typeof kind !== 'string' || !kind.endsWith('List') || !Array.isArray(items)) return [{ item: value, path: [] }];
  return asList(items).map((item, index) => ({ item, path: ['items', index] }));
};

/** Undefined for what JSON cannot hold. */
const toJson = (read: () => unknown): JsonValue | undefined => {
  try {
    const value = read();
    return isJson(value) ? value : undefined;
  } catch {
    // Too many aliases: the parser's only way to say so.
    return undefined;
  }
};

const isJson = (value: unknown): value is JsonValue => {
  if (typeof value === 'number') return Number.isFinite(value);
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true;
  if (typeof value !== 'object') return false;
  if (Array.isArray(value)) return value.every(isJson);
  return Object.getPrototypeOf(value) === Object.prototype && Object.values(value as JsonMap).every(isJson);
};
