import { z } from 'zod';
import { commitSha, componentName, environmentId, environmentName, projectId, revision } from './ids.ts';
import { sourceKinds } from './source.ts';

/** What providers write on infrastructure and read back: others may have changed it meanwhile. */

/** Turns the check of an id into a schema. */
const id = <T extends string>(make: (text: string) => T) =>
  z.string().transform((text, context) => {
    try {
      return make(text);
    } catch (error) {
      context.addIssue(error instanceof Error ? error.message : String(error));
      return z.NEVER;
    }
  });

export const recordedIds = { component: id(componentName), commit: id(commitSha), revision: id(revision) } as const;

export const recordedIdentity = z.object({
  id: id(environmentId),
  name: id(environmentName),
  project: id(projectId),
  source: z.object({ kind: z.enum(sourceKinds), name: z.string() }),
  createdAt: z.string(),
});

export const recordedImages = z.record(
  z.string(),
  z.object({
    reference: z.string(),
    tag: z.string().nullable(),
    commit: recordedIds.commit.nullable(),
    request: z.string(),
    fallback: z.literal(true).exactOptional(),
  }),
);
