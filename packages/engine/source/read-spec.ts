import { createHash } from 'node:crypto';
import {
  type CommitSha,
  type Failure,
  isEphError,
  type ParsedSpec,
  parseSpec,
  type Section,
  type Source,
  specLimitBytes,
  toFailure,
} from '@eph/contract';
import type { Forge } from './forge.ts';

const specFile = 'eph.yaml';

export type SpecReading =
  | { readonly state: 'read'; readonly parsed: ParsedSpec }
  | { readonly state: 'missing' }
  | { readonly state: 'unreadable'; readonly fault: Failure };

/**
 * Reads `eph.yaml` at commits of one project. A commit never changes, so each is read once; most commits carry the same file,
 * so each content is parsed and kept once.
 */
export class SpecReader {
  readonly #forge: Forge;
  readonly #sections: readonly Section[];
  readonly #byCommit = new Map<CommitSha, SpecReading>();
  readonly #byContent = new Map<string, SpecReading>();

  constructor(forge: Forge, sections: readonly Section[]) {
    this.#forge = forge;
    this.#sections = sections;
  }

  /** What is already known, without asking anybody: the path an unchanged pass takes. */
  peek(commit: CommitSha): SpecReading | undefined {
    return this.#byCommit.get(commit);
  }

  async read(commit: CommitSha, signal: AbortSignal): Promise<SpecReading> {
    const known = this.#byCommit.get(commit);
    if (known !== undefined) return known;
    const reading = await this.#readFresh(commit, signal);
    if (reading.state !== 'unreadable') this.#byCommit.set(commit, reading);
    return reading;
  }

  /** Forgets every commit that no source points at any more. */
  retain(sources: readonly Source[]): void {
    if (this.#byCommit.size <= sources.length) return;
    const commits = new Set(sources.map((source) => source.commit));
    for (const commit of this.#byCommit.keys()) if (!commits.has(commit)) this.#byCommit.delete(commit);
    const used = new Set(this.#byCommit.values());
    for (const [content, reading] of this.#byContent) if (!used.has(reading)) this.#byContent.delete(content);
  }

  async #readFresh(commit: CommitSha, signal: AbortSignal): Promise<SpecReading> {
    try {
      const bytes = await this.#forge.readFile(commit, specFile, specLimitBytes, signal);
      if (bytes === undefined) return { state: 'missing' };
      const content = createHash('sha256').update(bytes).digest('base64');
      const reading = this.#byContent.get(content) ?? { state: 'read', parsed: parseSpec(bytes, specFile, this.#sections) };
      this.#byContent.set(content, reading);
      return reading;
    } catch (error) {
      if (isEphError(error) && error.code === 'spec.invalid') return { state: 'read', parsed: refused(error.message) };
      return { state: 'unreadable', fault: toFailure(error) };
    }
  }
}

const refused = (message: string): ParsedSpec => ({
  ok: false,
  faults: [{ file: specFile, line: 1, column: 1, path: '', message }],
});
