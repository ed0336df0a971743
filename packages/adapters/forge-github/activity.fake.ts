import { type CommitSha, commitSha } from '@eph/contract';

interface Push {
  readonly repository: string;
  readonly branch: string;
  readonly after: CommitSha;
  readonly atMs: number;
}

/** The list of pushes to branches, in GitHub's published shape, for a server that has none. Everything else is asked of that server. */
export class FakeActivity {
  readonly #pushes: Push[] = [];
  readonly #now: () => number;
  /** Whether it can be seen. */
  visible = true;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Notes a push and gives its commit back. */
  push(repository: string, branch: string, commit: string): CommitSha {
    const after = commitSha(commit);
    this.#pushes.push({ repository, branch, after, atMs: this.#now() });
    return after;
  }

  readonly fetch: typeof fetch = async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const repository = /\/repos\/([^/]+\/[^/]+)\/activity$/.exec(url.pathname)?.[1];
    if (repository === undefined || !(await answers(url, input, init))) return await fetch(input, init);
    if (!this.visible) return Response.json({ message: 'Not Found' }, { status: 404 });
    return Response.json(this.#activities(repository, url.searchParams.get('ref')));
  };

  #activities(repository: string, ref: string | null): readonly object[] {
    return this.#pushes
      .map((push, index) => ({ ...push, index }))
      .filter((push) => push.repository === repository && `refs/heads/${push.branch}` === ref)
      .map(({ index, after, atMs }) => ({
        id: index + 1,
        node_id: `PSH_${index + 1}`,
        before: '0'.repeat(40),
        after,
        ref,
        timestamp: new Date(Math.floor(atMs / 1000) * 1000).toISOString().replace('.000', ''),
        activity_type: 'push',
        actor: null,
      }))
      .toReversed();
  }
}

/** It is as silent as the server itself. */
const answers = async (url: URL, ...[input, init]: Parameters<typeof fetch>): Promise<boolean> => {
  const headers = input instanceof Request ? input.headers : init?.headers;
  const response = await fetch(url.href.replace(/\/activity.*$/, ''), headers === undefined ? {} : { headers });
  await response.body?.cancel();
  return response.ok;
};
