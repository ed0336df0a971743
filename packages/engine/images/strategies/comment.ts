import { findInCommand } from '../stated-images.ts';
import { proposeStated, type Strategy } from './strategy.ts';

/** `--image=` in the comment that asked for the environment. */
export const findByComment: Strategy = (request) => {
  const stated = findInCommand(request.command, request.image);
  return Promise.resolve(stated && proposeStated(stated, 'the comment', request));
};
