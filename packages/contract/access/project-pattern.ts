import { text } from '../spec/scalars.ts';

/** For names of projects. Apart from the rules, whose parser the command line does not need. */
export const projectPattern = text(100).regex(
  /^[a-z0-9*?-]+$/,
  'must be the name of a project; * stands for anything, and ? for one character',
);
