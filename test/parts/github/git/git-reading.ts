import type { GitNetwork } from './git-network.ts';

export interface ReadSignature {
  readonly name: string;
  readonly email: string;
  readonly atMs: number;
}

export interface ReadCommit {
  readonly sha: string;
  readonly tree: string;
  readonly parents: readonly string[];
  readonly author: ReadSignature;
  readonly committer: ReadSignature;
  readonly message: string;
}

export const readCommit = async (network: GitNetwork, sha: string): Promise<ReadCommit | undefined> => {
  const object = await network.read(sha);
  if (object?.kind !== 'commit') return undefined;
  const { fields, message } = parseHeaders(object.content);
  return {
    sha,
    tree: one(fields, 'tree'),
    parents: fields.filter(([name]) => name === 'parent').map(([, value]) => value),
    author: parseSignature(one(fields, 'author')),
    committer: parseSignature(one(fields, 'committer')),
    message,
  };
};

const parseHeaders = (content: Buffer): { readonly fields: readonly (readonly [string, string])[]; readonly message: string } => {
  const text = content.toString();
  const end = text.indexOf('\n\n');
  const fields = text
    .slice(0, end)
    .split('\n')
    .map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)] as const);
  return { fields, message: text.slice(end + 2).replace(/\n$/, '') };
};

const one = (fields: readonly (readonly [string, string])[], wanted: string): string => {
  const field = fields.find(([name]) => name === wanted);
  if (field === undefined) throw new Error(`Git has an object without the field ${wanted}.`);
  return field[1];
};

const parseSignature = (text: string): ReadSignature => {
  const match = /^(.*) <(.*)> (\d+) [+-]\d{4}$/.exec(text);
  if (match === null) throw new Error(`Git has a signature that nobody can read: ${text}`);
  const [, name = '', email = '', seconds] = match;
  return { name, email, atMs: Number(seconds) * 1000 };
};
