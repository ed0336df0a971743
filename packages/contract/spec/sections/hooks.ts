import { z } from 'zod';
import { distinctNames } from '../rules.ts';
import { duration, list, name, template } from '../scalars.ts';

const line = template('hooks.command', 10_000);

const hook = z.strictObject({
  name: name.describe('What the hook is called where its outcome is shown.'),
  command: z
    .union([line, list(line)])
    .describe('What to run, inside the environment. A string goes through `sh -c`; a list is run as it is.'),
  timeout: duration('24h').optional().describe('After this long it is stopped and counts as failed.'),
  continueOnError: z.boolean().optional().describe('Whether the environment goes on when it fails. Default `false`.'),
});

const phase = list(hook).refine(...distinctNames);

const schema = z
  .strictObject({
    pre_create: phase.optional().describe('Run before an environment is made.'),
    post_create: phase.optional().describe('Run when an environment is ready.'),
    pre_destroy: phase.optional().describe('Run before an environment is removed.'),
  })
  .describe('What to run at turning points of the life of an environment.');

export const hooks = { name: 'hooks', schema } as const;
