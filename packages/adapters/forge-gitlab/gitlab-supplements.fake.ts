import type { GitlabEmulator } from '../../../test/parts/gitlab/gitlab-emulator.ts';
import type { Substitute } from './gitlab-front.fake.ts';

interface Version {
  readonly id: number;
  readonly head_commit_sha: string;
  readonly created_at: string;
}

interface Award {
  readonly id: number;
  readonly name: string;
  readonly user: { readonly id: number };
}

/** What GitLab has and the emulator does not: versions of merge requests, and reactions to them. */
export class GitlabSupplements {
  readonly #gitlab: GitlabEmulator;
  readonly #path: string;
  readonly #account: number;
  readonly #versions = new Map<number, Version[]>();
  readonly #awards = new Map<number, Award[]>();
  #lastId = 0;

  constructor(gitlab: GitlabEmulator, path: string, account: number) {
    this.#gitlab = gitlab;
    this.#path = path;
    this.#account = account;
  }

  /** After everything that may have moved the head of a merge request. */
  noteHeads(): void {
    for (let iid = 1; ; iid += 1) {
      const sha = this.#headOf(iid);
      if (sha === undefined) return;
      const versions = this.#versions.get(iid) ?? [];
      if (versions.at(-1)?.head_commit_sha === sha) continue;
      const version = { id: (this.#lastId += 1), head_commit_sha: sha, created_at: new Date().toISOString() };
      this.#versions.set(iid, [...versions, version]);
    }
  }

  answer(line: string, body: string): Substitute | undefined {
    const [, method, number, what] =
      /^(\S+) \/projects\/[^/]+\/merge_requests\/(\d+)\/(versions|award_emoji)(?:\?|$)/.exec(line) ?? [];
    const iid = Number(number);
    if (what === undefined) return undefined;
    if (this.#headOf(iid) === undefined) return { status: 404, body: '{"message":"404 Not found"}' };
    if (what === 'versions') return listed((this.#versions.get(iid) ?? []).toReversed());
    const awards = this.#awards.get(iid) ?? [];
    if (method === 'GET') return listed(awards);
    const { name } = JSON.parse(body) as { readonly name: string };
    if (awards.some((award) => award.name === name))
      return { status: 404, body: '{"message":"404 Award Emoji Name has already been taken Not Found"}' };
    const award = { id: (this.#lastId += 1), name, user: { id: this.#account } };
    this.#awards.set(iid, [...awards, award]);
    return { status: 201, headers: { 'content-type': 'application/json' }, body: JSON.stringify(award) };
  }

  #headOf(iid: number): string | undefined {
    try {
      return this.#gitlab.read.mergeRequest({ project: this.#path, iid }).sha;
    } catch {
      return undefined; // The emulator throws for what it does not have.
    }
  }
}

const listed = (items: readonly unknown[]): Substitute => ({
  status: 200,
  headers: { 'content-type': 'application/json', 'x-next-page': '', 'x-total': String(items.length) },
  body: JSON.stringify(items),
});
