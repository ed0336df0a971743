import type { Award, MergeRequest, Note, User } from './entities.ts';
import { forbidden, noRecord, notFound } from './refusal.ts';
import type { GitlabState } from './state.ts';

/** What reactions can be added to. */
export type Awardable = MergeRequest | Note;

/** Some of the names that GitLab knows. */
const emoji = new Set(
  (
    'thumbsup thumbsdown eyes rocket white_check_mark x hourglass tada warning confused heart ' +
    'seedling evergreen_tree deciduous_tree palm_tree cactus herb four_leaf_clover mushroom sunflower tulip rose hibiscus ' +
    'cherry_blossom blossom bouquet maple_leaf fallen_leaf leaves chestnut apple green_apple pear tangerine lemon banana ' +
    'watermelon grapes strawberry melon cherries peach pineapple'
  ).split(' '),
);

/**
 * https://docs.gitlab.com/api/emoji_reactions/#add-a-new-emoji-reaction. Every failure is a 404, also that the same user reacted so
 * before.
 */
export const addAward = (state: GitlabState, user: User, { awards }: Awardable, name: string): Award => {
  if (!emoji.has(name)) throw notFoundAward('Name is not a valid emoji name');
  if ([...awards.values()].some((award) => award.user === user && award.name === name))
    throw notFoundAward('Name has already been taken');
  const award = { id: state.nextId(), name, user, at: state.now() };
  awards.set(award.id, award);
  state.touch();
  return award;
};

const notFoundAward = (reason: string) => notFound(`Award Emoji ${reason}`);

export const findAward = ({ awards }: Awardable, id: string): Award => {
  const award = awards.get(Number(id));
  if (award === undefined) throw noRecord();
  return award;
};

export const deleteAward = (state: GitlabState, actor: User, from: Awardable, id: string): void => {
  const award = findAward(from, id);
  if (award.user !== actor) throw forbidden();
  from.awards.delete(award.id);
  state.touch();
};
