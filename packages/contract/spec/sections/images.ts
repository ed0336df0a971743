import { z } from 'zod';
import { isNotesName } from '../../source.ts';
import { distinctNames, notBoth, onlyWith, requiredWith } from '../rules.ts';
import { duration, imageName, list, name, template, text } from '../scalars.ts';

const tag = z
  .string()
  .regex(/^\w[\w.-]{0,127}$/, 'must be an image tag: letters, digits, _, . and -, at most 128 characters')
  .describe('An image tag.');

const image = z
  .strictObject({
    name: name.describe('What the image is called in this file.'),
    repository: template('environment.images.repository', 500)
      .regex(imageName, 'must be an image without its tag, such as ghcr.io/org/api')
      .describe('Where the image lies, without a tag.'),
    tag: tag.optional().describe('A fixed tag. It excludes every way of looking for one, and a fall-back.'),
    tag_source: z
      .literal('git_note')
      .optional()
      .describe('Looked at first: a note on the commit, written by whoever built the image.'),
    git_note_ref: text()
      .refine(isNotesName, 'must be the name of notes, such as eph-images: what comes after refs/notes/')
      .optional()
      .describe('Which notes to read. Default `eph-images`.'),
    tag_template: template('environment.images.tag_template').optional().describe('Looked for second: the tag that this makes.'),
    tag_pattern: template('environment.images.tag_pattern')
      .optional()
      .describe('Looked for third: the newest tag in the registry that matches; `*` stands for anything.'),
    follow_tag: z
      .boolean()
      .optional()
      .describe('Whether a tag that is moved to another image updates what runs. Default `false`: what runs stays.'),
    platform: z
      .string()
      .regex(/^[a-z0-9]+\/[a-z0-9_]+(\/[a-z0-9]+)?$/, 'must be a platform such as linux/arm64')
      .optional()
      .describe('The platform that the image must be for. Default: that of the provider, if it has one.'),
    max_age: duration().optional().describe('Older images are not taken, except as fall-back.'),
    required_labels: list(
      template('environment.images.required_labels', 500)
        .regex(/^[^={}]+=/, 'must be a label with its value, such as eph.io/commit={commit_sha}')
        .describe('`key=value`.'),
    )
      .optional()
      .describe('Labels that an image must carry to be taken, except as fall-back.'),
    fallback_tag: tag.optional().describe('The tag to take while nothing was found, with `fallback_behavior: use-fallback`.'),
    fallback_behavior: z
      .enum(['fail', 'use-fallback', 'wait'])
      .optional()
      .describe(
        'What to do when nothing was found. `use-fallback` takes the fall-back tag after a while and until the image is there, `fail` gives up after a while and says so, `wait` never gives up. Default `use-fallback` with a `fallback_tag`, else `fail`.',
      ),
  })
  .refine(...notBoth('tag', 'tag_source'))
  .refine(...notBoth('tag', 'tag_template'))
  .refine(...notBoth('tag', 'tag_pattern'))
  .refine(...notBoth('tag', 'fallback_tag'))
  .refine(...onlyWith('git_note_ref', 'tag_source', 'git_note', 'none'))
  .refine(...requiredWith('fallback_tag', 'fallback_behavior', 'use-fallback'));

export const images = list(image)
  .refine(...distinctNames)
  .describe('How the images of a commit are found. Eph builds none.');
