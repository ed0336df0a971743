import { EphError, parseJson } from '@eph/contract';
import { parseLinks } from '../forge-http/read-pages.ts';
import type { RegistryAnswer } from './exchange.ts';
import { isTag } from './repository-name.ts';

const pageLimit = 1_000;
/** Some registries send the whole list at once. */
export const pageLimitBytes = 32 * 1024 * 1024;
const listLimitBytes = 64 * 1024 * 1024;
const maxPages = 1_000;

export interface PagedRepository {
  /** For messages. */
  readonly shown: string;
  /** Reads a page; `query` is what follows the question mark. */
  readPage(query: string): Promise<RegistryAnswer>;
}

/** Undefined if the repository does not exist. Of tags that nobody asked for, nothing is kept. */
export const readTags = async (
  repository: PagedRepository,
  matches: (tag: string) => boolean,
): Promise<readonly string[] | undefined> => {
  const refuse = (why: string): EphError => new EphError('registry.refused', `The list of tags of ${repository.shown} ${why}.`);
  const tags = new Set<string>();
  const seen = new Set<string>();
  let bytes = 0;
  for (let query: string | undefined = `n=${pageLimit}`; query !== undefined; ) {
    if (seen.has(query) || seen.size === maxPages) throw refuse('does not end');
    seen.add(query);
    const answer: RegistryAnswer = await repository.readPage(query);
    if (answer.status === 404) return undefined;
    bytes += answer.body.length;
    if (bytes > listLimitBytes) throw refuse(`has more than ${listLimitBytes / 1024 / 1024} MiB`);
    const page = parsePage(answer.body);
    if (page === undefined) throw refuse('is not valid');
    for (const tag of page) {
      if (typeof tag !== 'string') throw refuse('is not valid');
      // What is no tag cannot be asked for.
      if (isTag(tag) && matches(tag)) tags.add(tag);
    }
    query = nextQuery(answer);
  }
  return [...tags];
};

/** Without a schema, which would take longer than to read and parse the list. Null is sent where the last tag was deleted. */
const parsePage = (body: Buffer): readonly unknown[] | undefined => {
  const page = parseJson(body.toString());
  const tags = typeof page === 'object' && page !== null && 'tags' in page ? (page.tags ?? []) : undefined;
  return Array.isArray(tags) ? tags : undefined;
};

/**
 * The address of the next page is that of this one, whatever the link says: behind a proxy, registries do not know their own. Only
 * the query counts.
 */
const nextQuery = ({ headers }: RegistryAnswer): string | undefined => {
  const link = parseLinks([headers['link'] ?? []].flat().join(', ')).get('next');
  return link === undefined ? undefined : link.slice(link.indexOf('?') + 1);
};
