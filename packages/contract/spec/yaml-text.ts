import {
  type Alias,
  Composer,
  CST,
  type Document,
  type DocumentOptions,
  isAlias,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  Lexer,
  type LineCounter,
  type Node,
  type Pair,
  Parser,
  type SchemaOptions,
  type YAMLError,
  type YAMLMap,
} from 'yaml';

export interface Flaw {
  readonly offset: number;
  /** Dotted path of the key, empty for the whole document. */
  readonly path: string;
  readonly message: string;
}

export type Step = string | number;

/** How values are read, where they are not those of YAML 1.2. */
export type YamlOptions = DocumentOptions & SchemaOptions;

export interface ParsedYaml {
  /** Absent when the text is not YAML or not to be trusted; present, even with flaws, when it can be looked at further. */
  readonly document?: Document.Parsed;
  readonly flaws: readonly Flaw[];
}

/** Real files have a few thousand. A wrong token costs the composer as much time as a kilobyte of text. */
const tokenLimit = 20_000;
const depthLimit = 64;
export const aliasLimit = 100;

/**
 * One YAML document out of text that nobody has checked. What could take long or overflow the stack is refused before the composer, which
 * recurses and is quadratic in places, sees it.
 */
export const parseYaml = (text: string, lines: LineCounter, more: YamlOptions = {}): ParsedYaml => {
  const flawed = (offset: number, message: string): ParsedYaml => ({ flaws: [{ offset, path: '', message }] });
  const tokens = readTokens(text, lines);
  if (tokens === undefined) return flawed(0, `the file is too complex: it has more than ${tokenLimit} YAML tokens`);
  const deep = findTooDeep(tokens);
  if (deep !== undefined) return flawed(deep, `nested more than ${depthLimit} levels deep`);
  const options = { uniqueKeys: false, stringKeys: true, logLevel: 'silent', ...more } as const;
  const [document, second] = new Composer(options).compose(tokens, true, text.length);
  if (document === undefined) return flawed(0, 'the file is empty');
  const errors = [...document.errors, ...document.warnings];
  if (errors.length > 0) return { flaws: errors.map(describeYamlError) };
  if (second !== undefined)
    return flawed(second.range[0], 'the file must hold one document; remove this one and the --- before it');
  return { document, flaws: findFlaws(document) };
};

/** The parser's own `parse`, stopped at the limit. */
const readTokens = (text: string, lines: LineCounter): readonly CST.Token[] | undefined => {
  const parser = new Parser(lines.addNewLine);
  const tokens: CST.Token[] = [];
  let count = 0;
  lines.addNewLine(0);
  for (const lexeme of new Lexer().lex(text)) {
    count += 1;
    if (count > tokenLimit) return undefined;
    for (const token of parser.next(lexeme)) tokens.push(token);
  }
  for (const token of parser.end()) tokens.push(token);
  return tokens;
};

/** The offset of the first collection beyond the limit. An explicit stack: the depth is what is in question. */
const findTooDeep = (tokens: readonly CST.Token[]): number | undefined => {
  const left = tokens.map((token) => ({ token, depth: 0 }));
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { token, depth } = next;
    if (token.type === 'document' && token.value !== undefined) left.push({ token: token.value, depth });
    if (!CST.isCollection(token)) continue;
    if (depth >= depthLimit) return token.offset;
    for (const { key, value } of token.items) {
      if (key) left.push({ token: key, depth: depth + 1 });
      if (value) left.push({ token: value, depth: depth + 1 });
    }
  }
  return undefined;
};

const sentences: { readonly [code in YAMLError['code']]?: string } = {
  TAB_AS_INDENT: 'indent with spaces; YAML allows no tabs here',
  BLOCK_AS_IMPLICIT_KEY: 'a second ": " on one line; put the value in quotes',
  MULTILINE_IMPLICIT_KEY: 'a key must be on one line; is a ":" missing, or is the line before it not finished?',
  BAD_INDENT: 'the indentation does not fit the lines around it, or a bracket is not closed',
  UNEXPECTED_TOKEN: 'this is not expected here; look at what comes before it, too',
  NON_STRING_KEY: 'a key must be text, not a list or a map',
  TAG_RESOLVE_FAILED: 'tags, words that begin with "!", mean nothing here; put the value in quotes',
  BAD_ALIAS: 'a value that begins with "*" or "&" needs quotes',
  BAD_SCALAR_START: 'a value that begins with this character needs quotes',
};

const describeYamlError = ({ code, message, pos }: YAMLError): Flaw => {
  const known = message.startsWith('Implicit map keys need') ? 'a ":" is missing after this key' : sentences[code];
  return { offset: pos[0], path: '', message: known ?? `not valid YAML: ${clip(message, 200)}` };
};

/** What the composer lets pass or takes too long to find, and the one key that JavaScript gives a meaning. */
const findFlaws = (document: Document.Parsed): readonly Flaw[] => {
  const flaws: Flaw[] = [];
  const anchors = new Set<string>();
  let aliases = 0;
  const flaw = (at: { range?: readonly number[] | null | undefined }, path: string, message: string): void => {
    flaws.push({ offset: at.range?.[0] ?? 0, path, message });
  };
  const visitAlias = (node: Alias, path: string): void => {
    aliases += 1;
    if (aliases === aliasLimit + 1) flaw(node, path, `the file uses more than ${aliasLimit} aliases`);
    if (!anchors.has(node.source)) flaw(node, path, `there is no &${clip(node.source)} before this`);
  };
  const visitMap = (node: YAMLMap, path: string): void => {
    const seen = new Set<string>();
    for (const { key, value } of node.items) {
      const name = isScalar(key) ? String(key.value) : '';
      const at = joinPath(path, name);
      if (seen.has(name) && isScalar(key)) flaw(key, at, 'is given twice; keep one');
      if (name === '__proto__' && isScalar(key)) flaw(key, at, 'is not allowed as a name');
      seen.add(name);
      visit(value, at);
    }
  };
  const visit = (node: unknown, path: string): void => {
    if (isAlias(node)) return visitAlias(node, path);
    if (!isNode(node)) return;
    if (node.anchor !== undefined && anchors.has(node.anchor))
      flaw(node, path, `there is another &${clip(node.anchor)} before this; give each a name of its own`);
    if (node.anchor !== undefined) anchors.add(node.anchor);
    if (isMap(node)) visitMap(node, path);
    else if (isSeq(node)) for (const [index, item] of node.items.entries()) visit(item, joinPath(path, index));
  };
  visit(document.contents, '');
  return flaws;
};

/** The node a path leads to, or the deepest one on the way that exists. It ends at an alias that cannot be resolved. */
export const locate = (
  root: Node,
  path: readonly Step[],
  resolve: (alias: Node) => Node | undefined = () => undefined,
): { readonly node: Node; readonly offset: number; readonly depth: number } => {
  let node = root;
  let offset = root.range?.[0] ?? 0;
  let depth = 0;
  for (const step of path) {
    const next = isMap<unknown, Node>(node) || isSeq<Node>(node) ? (node.get(step, true) as Node | null | undefined) : undefined;
    if (next === undefined || next === null) break;
    offset = keyOffset(node, String(step)) ?? next.range?.[0] ?? offset;
    depth += 1;
    const resolved = isAlias(next) ? resolve(next) : next;
    if (resolved === undefined) break;
    node = resolved;
  }
  return { node, offset, depth };
};

export const keyOffset = (node: Node, key: string): number | undefined => {
  if (!isMap(node)) return undefined;
  const pair = node.items.find(
    (item): item is Pair<Node> => isPair(item) && isScalar(item.key) && String(item.key.value) === key,
  );
  return pair?.key.range?.[0];
};

export const joinPath = (path: string, step: string | number): string => {
  const shown = step === '' ? '""' : clip(String(step));
  return path === '' ? shown : `${path}.${shown}`;
};

/** A key can be as long as the file; what is shown of it is not. */
const clip = (text: string, limit = 80): string => (text.length > limit ? `${text.slice(0, limit - 1)}…` : text);
