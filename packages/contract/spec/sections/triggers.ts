import { z } from 'zod';
import { notBoth, oneOf } from '../rules.ts';
import { list, pathPattern, refPattern, text } from '../scalars.ts';

const paths = list(pathPattern)
  .optional()
  .describe(
    'Only pull requests that change a file which matches one of these patterns. Branches and tags are not asked what they change.',
  );

/** A trigger with a list of patterns, or one pattern as the short form. */
const withPatterns = <Type extends string, P extends z.ZodType<string>>(type: Type, looksAt: string, pattern: P, who: string) =>
  z
    .strictObject({
      type: z.literal(type).describe(`This one looks at ${looksAt}.`),
      patterns: list(pattern).optional().describe(`${who}.`),
      pattern: pattern.optional().describe('Short for `patterns` with one entry.'),
      paths,
    })
    .refine(...notBoth('pattern', 'patterns'))
    .refine(...oneOf('patterns', 'pattern'))
    .transform(({ pattern: only, patterns, ...rest }) => ({ ...rest, patterns: patterns ?? (only === undefined ? [] : [only]) }));

const gitBranch = withPatterns('git_branch', 'branches', refPattern, 'Branches that get an environment').describe(
  'Every branch that matches gets an environment for as long as it exists.',
);

const gitTag = withPatterns('git_tag', 'tags', refPattern, 'Tags that get an environment').describe(
  'Every tag that matches gets an environment for as long as it exists.',
);

const prComment = withPatterns(
  'pr_comment',
  'comments on pull requests',
  text().describe('What a comment begins with, such as `/preview`.'),
  'Comments that ask for an environment',
).describe('A pull request gets an environment when somebody asks for it in a comment.');

const prLabel = z
  .strictObject({
    type: z.literal('pr_label').describe('This one looks at labels of pull requests.'),
    labels: list(text().describe('A label.')).describe('Labels of which one is enough.'),
    wait_for_checks: list(text().describe('The name of a check.'))
      .optional()
      .describe('Checks that must have succeeded first, such as the one that builds the images.'),
    paths,
  })
  .describe('A pull request gets an environment for as long as it carries one of the labels.');

const auto = z
  .strictObject({
    type: z.literal('auto').describe('This one looks at all open pull requests.'),
    branches: list(refPattern).optional().describe('Only pull requests from branches that match. Without it, all do.'),
    ignore_draft: z.boolean().optional().describe('Whether drafts get none until they are ready for review.'),
    paths,
  })
  .describe('Every open pull request gets an environment without being asked.');

const schema = list(z.discriminatedUnion('type', [gitBranch, gitTag, prLabel, prComment, auto]), 10).describe(
  'What gets an environment. Without it, every branch `preview/**` does.',
);

/** What applies when `eph.yaml` names no triggers, or cannot be read far enough to see them. */
export const defaultTriggers: z.output<typeof gitBranch>[] = [{ type: 'git_branch', patterns: ['preview/**'] }];

export const triggers = { name: 'triggers', schema, available: true } as const;
