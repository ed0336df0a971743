import { parseJson } from '@eph/contract';
import { isText } from './start-commands.ts';

export interface Package {
  readonly scripts: ReadonlyMap<string, string>;
  readonly main: string | undefined;
  /** Patterns of folders. */
  readonly workspaces: readonly string[];
  readonly needsPackages: boolean;
  /** Made to be imported by others. */
  readonly isLibrary: boolean;
}

export const parsePackage = (text: string): Package => {
  const all = toRecord(parseJson(text));
  const { workspaces, main, dependencies, devDependencies } = all;
  const isEmpty = (value: unknown): boolean => Object.keys(toRecord(value)).length === 0;
  return {
    scripts: new Map(Object.entries(toRecord(all['scripts'])).filter(isCommand)),
    main: typeof main === 'string' && isText(main) ? main.replace(/^\.\//, '') : undefined,
    workspaces: toTexts(Array.isArray(workspaces) ? workspaces : toRecord(workspaces)['packages']),
    needsPackages: !isEmpty(dependencies) || !isEmpty(devDependencies),
    isLibrary: ['exports', 'module', 'types', 'typings', 'files', 'peerDependencies', 'bin'].some((key) => key in all),
  };
};

/** The packages of `pnpm-workspace.yaml`, one on each line as pnpm writes them. */
export const parsePnpmWorkspace = (text: string): readonly string[] => {
  const [, list = ''] = /^packages:[ \t]*\r?\n((?:[ \t]*(?:-.*|#.*)?\r?\n)*)/m.exec(`${text}\n`) ?? [];
  return list.split(/\r?\n/).flatMap((line) => /^\s*-\s*["']?([^"'#\s]+)/.exec(line)?.[1] ?? []);
};

/** Whether a folder is one of a workspace, whose patterns are relative to its root. */
export const matchesWorkspace = (patterns: readonly string[], folder: string): boolean => {
  const isMatch = (pattern: string): boolean => toExpression(pattern).test(folder);
  const excluded = patterns.filter((pattern) => pattern.startsWith('!')).map((pattern) => pattern.slice(1));
  return patterns.some((pattern) => !pattern.startsWith('!') && isMatch(pattern)) && !excluded.some(isMatch);
};

const mostWildcards = 4;

const toExpression = (pattern: string): RegExp => {
  const parts = pattern.replace(/^\.\//, '').replace(/\/$/, '').split(/\*+/);
  // Each one more multiplies the time that the expression takes.
  if (parts.length > mostWildcards + 1) return /(?!)/;
  const between = pattern.includes('**') ? '.*' : '[^/]*';
  return new RegExp(`^${parts.map((part) => RegExp.escape(part)).join(between)}$`);
};

const isCommand = (entry: [string, unknown]): entry is [string, string] => typeof entry[1] === 'string' && isText(entry[1]);

const toTexts = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === 'string').slice(0, 100) : [];

const toRecord = (value: unknown): { readonly [key: string]: unknown } =>
  typeof value === 'object' && value !== null ? (value as { readonly [key: string]: unknown }) : {};
