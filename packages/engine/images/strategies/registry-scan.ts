import { compileGlob } from '@eph/contract';
import { askerOf } from '../asker.ts';
import { type Candidate, kindOfTag, namesCommit, type Proposal } from '../candidate.ts';
import { madeAtOf } from '../constraints.ts';
import { isRefusal } from '../registry-answers.ts';
import type { ImageRequest } from '../resolver.ts';
import type { Strategy, Surroundings } from './strategy.ts';

/** Each costs up to three requests. */
const mostInspected = 100;

/** The tags of the repository that match a pattern, newest first. */
export const findByScan: Strategy = async (request, surroundings, signal) => {
  const { pattern, repository } = request.image;
  if (pattern === undefined) return undefined;
  if ('fault' in pattern) return { none: pattern.fault };
  const asked = { ...askerOf(request), repository };
  const listed = await surroundings.registry.tags(asked, pattern.text, compileGlob(pattern.text));
  signal.throwIfAborted();
  if (listed.state === 'missing') return { none: listed.because };
  const matching = listed.tags;
  if (matching.length === 0) return { none: `no tag of ${repository} matches ${pattern.text}` };
  const tags = matching.length > mostInspected ? matching.filter((tag) => namesCommit(tag, request)) : matching;
  if (tags.length > mostInspected || tags.length === 0)
    return {
      none: `${matching.length} tags of ${repository} match ${pattern.text}, and ${tags.length} of them name the commit; a tag_pattern that matches at most ${mostInspected} is needed`,
    };
  return await newestFirst(tags, request, surroundings, signal);
};

const newestFirst = async (
  tags: readonly string[],
  request: ImageRequest,
  { registry, now }: Surroundings,
  signal: AbortSignal,
): Promise<Proposal> => {
  const { repository, platform } = request.image;
  const asker = askerOf(request);
  const inspect = async (tag: string): Promise<Inspected> => {
    try {
      const found = await registry.find({ ...asker, repository, reference: tag });
      if (found.state === 'missing') return { tag, ...found };
      const details = await registry.inspect({ ...asker, repository, reference: found.digest }, platform);
      return details.state === 'missing' ? { tag, ...details } : { tag, madeAt: madeAtOf(details, now()) ?? 0 };
    } catch (error) {
      if (!isRefusal(error)) throw error;
      // Charts and caches of builds lie beside images.
      return { tag, because: error.message };
    }
  };
  const inspected = await Promise.all(tags.map(inspect));
  signal.throwIfAborted();
  const candidates = inspected
    .flatMap((one) => ('madeAt' in one ? [one] : []))
    .toSorted((a, b) => b.madeAt - a.madeAt || (a.tag < b.tag ? -1 : 1))
    .map(({ tag }): Candidate => ({ repository, reference: tag, kind: kindOfTag(tag, request) }));
  const [first, ...others] = inspected.flatMap((one) => ('because' in one ? [one] : []));
  if (first === undefined) return { candidates };
  const and = others.length === 0 ? '' : `, and ${others.length} more`;
  const passedOver = `${first.tag}${and} cannot be used: ${first.because.replace(/\.$/, '')}`;
  return candidates.length === 0 ? { none: passedOver } : { candidates, passedOver };
};

type Inspected =
  | { readonly tag: string; readonly madeAt: number }
  /** Why it cannot be used. */
  | { readonly tag: string; readonly because: string };
