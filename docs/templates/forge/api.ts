import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EphError } from '@eph/contract';
import { z } from 'zod';

const stateSchema = z.object({
  /** In any state; a forge lists the open ones page by page and says how many there are. */
  pulls: z.array(
    z.object({
      number: z.int(),
      isOpen: z.boolean(),
      title: z.string(),
      author: z.string(),
      labels: z.array(z.string()),
      head: z.string(),
      base: z.string(),
      commit: z.string(),
      updated: z.string(),
    }),
  ),
  statuses: z.array(z.object({ environment: z.string(), commit: z.string(), text: z.string(), edits: z.int() })),
});
export type ApiState = z.output<typeof stateSchema>;
export type ApiPull = ApiState['pulls'][number];

/** What the forge knows of a repository. Here it is a file; put requests to your forge in its place. */
export const createTemplateApi = (folder: string) => {
  const path = join(folder, 'api.json');
  return {
    /** Throws `forge.unreachable` for everything but a valid answer. */
    read(): ApiState {
      try {
        return stateSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
      } catch (error) {
        throw new EphError('forge.unreachable', 'The forge does not answer.', { cause: error });
      }
    },
    write(state: ApiState): void {
      writeFileSync(`${path}.tmp`, JSON.stringify(state));
      renameSync(`${path}.tmp`, path);
    },
  };
};

export type TemplateApi = ReturnType<typeof createTemplateApi>;
