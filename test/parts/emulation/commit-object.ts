/** A commit as Git stores it. */
export interface CommitObject {
  readonly sha: string;
  readonly parents: readonly string[];
  readonly author: Signature;
  readonly committer: Signature;
  readonly message: string;
}

export interface Signature {
  readonly name: string;
  readonly email: string;
  readonly seconds: number;
}

const parseSignature = (text: string): Signature => {
  const match = /^(.*) <(.*)> (\d+) [+-]\d{4}$/u.exec(text);
  return { name: match?.[1] ?? '', email: match?.[2] ?? '', seconds: Number(match?.[3] ?? 0) };
};

const parseCommit = (sha: string, text: string): CommitObject => {
  const end = text.indexOf('\n\n');
  const lines = text.slice(0, end).split('\n');
  const values = (name: string): readonly string[] =>
    lines.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1));
  return {
    sha,
    parents: values('parent'),
    author: parseSignature(values('author')[0] ?? ''),
    committer: parseSignature(values('committer')[0] ?? ''),
    message: text.slice(end + 2),
  };
};

/** The answers of `git cat-file --batch` to commit ids; ids that are no commits are left out. */
export const parseCommits = (output: Buffer): readonly CommitObject[] => {
  const commits: CommitObject[] = [];
  let at = 0;
  while (at < output.length) {
    const lineEnd = output.indexOf('\n', at);
    const [sha = '', type, size] = output.toString('utf8', at, lineEnd).split(' ');
    at = lineEnd + 1;
    if (size === undefined) continue;
    if (type === 'commit') commits.push(parseCommit(sha, output.toString('utf8', at, at + Number(size))));
    at += Number(size) + 1;
  }
  return commits;
};
