import { z } from 'zod';
import { componentKinds } from '../component-values.ts';
import { count, list, repositoryPath, text } from '../scalars.ts';
import { section } from '../section.ts';

const schema = z
  .strictObject({
    compose_files: list(repositoryPath)
      .optional()
      .describe('Compose files, later ones over earlier ones. Without it, the one that Docker Compose itself would take.'),
    env_file: repositoryPath.optional().describe('A file with variables for the compose files.'),
    scale: z.record(text(), count(1000)).optional().describe('How many copies of a service run, by its name.'),
  })
  .describe('Services from compose files. Images must exist: `build` is not carried out.');

export const dockerCompose = section({
  name: 'docker-compose',
  schema,
  choice: true,
  components({ scale = {} }) {
    const { Deployment: kind } = componentKinds;
    return Object.entries(scale).map(([name, replicas]) => ({ name, kind, values: { replicas }, path: ['scale', name] }));
  },
});
