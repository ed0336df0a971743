import type { Award, Note, User } from './entities.ts';
import { notFound } from './refusal.ts';
import type { GitlabState } from './state.ts';

/** Some of the names that GitLab knows. */
const emoji = new Set(['thumbsup', 'thumbsdown', 'eyes', 'rocket']);

/**
 * https://docs.gitlab.com/api/emoji_reactions/#add-a-new-emoji-reaction. Every failure is a 404, also that the same user reacted so
 * before.
 */
export const addAward = (state: GitlabState, user: User, { awards }: Note, name: string): Award => {
  if (!emoji.has(name)) throw notFoundAward('Name is not a valid emoji name');
  if (awards.some((award) => award.user === user && award.name === name)) throw notFoundAward('Name has already been taken');
  const award = { id: state.nextId(), name, user, at: state.now() };
  awards.push(award);
  state.touch();
  return award;
};

const notFoundAward = (reason: string) => notFound(`Award Emoji ${reason}`);
