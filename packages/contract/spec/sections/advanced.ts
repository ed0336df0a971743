import { z } from 'zod';
import { list, name, text } from '../scalars.ts';

const analysis = z.strictObject({
  metrics: list(
    z.strictObject({
      name: text().describe('The figure to watch.'),
      threshold: z.number().describe('The value from which on the new version counts as failing.'),
    }),
  ).describe('Figures that decide.'),
});

const advancedSchema = z
  .strictObject({
    regions: list(text()).optional().describe('Where copies of the environment run.'),
    canary: z
      .strictObject({
        enabled: z.boolean().optional().describe('Whether a new version gets a part of the traffic first.'),
        analysis: analysis.optional().describe('How to tell whether it does well.'),
      })
      .optional()
      .describe('Careful updates.'),
  })
  // In a file that offers its keys as comments, nothing is left of the section but its name.
  .nullable()
  .transform((written) => written ?? {})
  .describe('What few need.');

const cronMessage = 'must be five fields of a schedule, such as */10 * * * *';

const testingSchema = z
  .strictObject({
    chaos: list(
      z.strictObject({
        name: name.describe('What the experiment is called.'),
        schedule: z
          .string()
          .regex(/^[\d*/,A-Za-z-]+(?: [\d*/,A-Za-z-]+){4}$/, cronMessage)
          .describe('When it runs, as cron writes it.'),
        action: text(1000).describe('What is done.'),
      }),
    ).describe('Experiments that disturb the environment on purpose.'),
  })
  .describe('Experiments with the environment.');

// Nothing of these two is available; each of their keys is named.
export const advanced = { name: 'advanced', schema: advancedSchema, available: {} } as const;
export const testing = { name: 'testing', schema: testingSchema, available: {} } as const;
