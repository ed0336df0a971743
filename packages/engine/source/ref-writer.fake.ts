import { type CommitSha, EphError } from '@eph/contract';
import type { FakeRepository } from './forge.fake.ts';
import type { RefWriter } from './ref-writer.ts';

/** A ref writer over a repository in memory. */
export class FakeRefWriter implements RefWriter {
  readonly prefix: string;
  readonly #repository: FakeRepository;

  constructor(prefix: string, repository: FakeRepository) {
    this.prefix = prefix;
    this.#repository = repository;
  }

  async ensureBranch(name: string, commit: CommitSha): Promise<boolean> {
    const at = this.#commitOf(name);
    if (at === commit) return false;
    if (at !== undefined) throw new EphError('api.conflict', `the branch ${name} is at ${at}`);
    if (!this.#repository.commits.has(commit)) throw new EphError('source.commit_missing', `there is no commit ${commit}`);
    this.#repository.point({ kind: 'branch', name }, commit);
    return true;
  }

  async removeBranch(name: string, commit: CommitSha): Promise<boolean> {
    const at = this.#commitOf(name);
    if (at === undefined) return false;
    if (at !== commit) throw new EphError('api.conflict', `the branch ${name} is at ${at}`);
    this.#repository.delete({ kind: 'branch', name });
    return true;
  }

  #commitOf(name: string): CommitSha | undefined {
    if (!name.startsWith(this.prefix) || /\.\.|\/\/|[\0-\x20~^:?*[\\]|[./]$|\.lock$/.test(name))
      throw new EphError('api.bad_request', `${JSON.stringify(name)} cannot be a branch below ${this.prefix}`);
    return this.#repository.refs.get(`branch:${name}`)?.commit;
  }
}
