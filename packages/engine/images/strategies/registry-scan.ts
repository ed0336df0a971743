import { compileGlob } from '@eph/contract';
import { namesCommit, type Proposal } from '../candidate.ts';
import { madeAtOf } from '../constraints.ts';
import type { ImageRequest } from '../resolver.ts';
import type { Strategy, Surroundings } from './strategy.ts';

/** Each costs up to three requests. */
const mostInspected = 100;

/** The tags of the repository that match a pattern, newest first. */
export const findByScan: Strategy = async (request, surroundings, signal) => {
  const { pattern, repository } = request.image;
  if (pattern === undefined) return undefined;
  if ('fault' in pattern) return { none: pattern.fault };
  const { project } = request.source;
  const listed = await surroundings.registry.tags({ project, repository }, pattern.text, compileGlob(pattern.text));
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
  const { project } = request.source;
  const { repository, platform } = request.image;
  const dated = await Promise.all(
    tags.map(async (tag) => {
      const found = await registry.find({ project, repository, reference: tag });
      if (found.state === 'missing') return [];
      const details = await registry.inspect({ project, repository, reference: found.digest }, platform);
      return details.state === 'missing' ? [] : [{ tag, madeAt: madeAtOf(details, now()) ?? 0 }];
    }),
  );
  signal.throwIfAborted();
  const candidates = dated
    .flat()
    .toSorted((a, b) => b.madeAt - a.madeAt || (a.tag < b.tag ? -1 : 1))
    .map(({ tag }) => ({ repository, reference: tag, isDoubtful: !namesCommit(tag, request) }));
  return candidates.length === 0 ? { none: 'no tag that matches is an image that can be used here' } : { candidates };
};
