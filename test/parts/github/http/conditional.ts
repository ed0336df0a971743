import { createHash } from 'node:crypto';

interface Known {
  readonly version: number;
  readonly etag: string;
  readonly modifiedAt: number | undefined;
}

export interface Condition {
  readonly ifNoneMatch: string | undefined;
  readonly ifModifiedSince: string | undefined;
}

/**
 * Remembers which entity tag an answer had at which version of the state, so that a pass over thousands of unchanged lists
 * renders none of them.
 */
export class EntityTags {
  readonly #known = new Map<string, Known>();

  /** Like GitHub's, a tag belongs to a token: with the next token of an installation every answer is new. */
  static of(token: string, body: Buffer): string {
    return `W/"${createHash('sha256').update(token).update('\n').update(body).digest('hex')}"`;
  }

  remember(key: string, known: Known): void {
    this.#known.set(key, known);
  }

  recall(key: string, version: number): Known | undefined {
    const known = this.#known.get(key);
    return known?.version === version ? known : undefined;
  }
}

/** `If-Modified-Since` counts only where no tag was sent. */
export const isUnchanged = (condition: Condition, etag: string, modifiedAt: number | undefined): boolean => {
  const { ifNoneMatch, ifModifiedSince } = condition;
  if (ifNoneMatch !== undefined) return ifNoneMatch === '*' || ifNoneMatch.split(/,\s*/).some((tag) => weak(tag) === weak(etag));
  if (ifModifiedSince === undefined || modifiedAt === undefined) return false;
  return Math.floor(modifiedAt / 1000) * 1000 <= Date.parse(ifModifiedSince);
};

const weak = (tag: string): string => tag.replace(/^W\//, '');
