import { kindOfTag } from '../candidate.ts';
import type { Strategy } from './strategy.ts';

/** The tag that a template makes. */
export const findByTemplate: Strategy = (request) => {
  const { tag, repository } = request.image;
  if (tag === undefined) return Promise.resolve(undefined);
  if ('fault' in tag) return Promise.resolve({ none: tag.fault });
  return Promise.resolve({ candidates: [{ repository, reference: tag.text, kind: kindOfTag(tag.text, request) }] });
};
