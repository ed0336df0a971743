import { z } from 'zod';
import { componentKinds } from '../component-values.ts';
import { distinctNames, notBoth, onlyWith, requiredWith } from '../rules.ts';
import { duration, list, name, pathPattern, template, text } from '../scalars.ts';
import { section } from '../section.ts';

const databaseTemplate = z
  .strictObject({
    strategy: z
      .enum(['empty', 'seed', 'snapshot', 'branch'])
      .optional()
      .describe('What a new database begins with. Default `empty`, or what is described below it.'),
    seed: z
      .strictObject({ scripts: list(pathPattern).describe('SQL files to run, in this order; files of one pattern by name.') })
      .optional()
      .describe('For the strategy `seed`.'),
    snapshot: z
      .strictObject({
        source: template('database.instances.template.snapshot.source', 500).describe('The snapshot to copy.'),
        max_age: duration().optional().describe('Older snapshots are not taken.'),
      })
      .optional()
      .describe('For the strategy `snapshot`.'),
  })
  .refine(...notBoth('snapshot', 'seed'))
  .refine(...onlyWith('seed', 'strategy', 'seed'))
  .refine(...onlyWith('snapshot', 'strategy', 'snapshot'))
  .refine(...requiredWith('seed', 'strategy', 'seed'))
  .refine(...requiredWith('snapshot', 'strategy', 'snapshot'))
  .transform((written) => ({ strategy: strategyOf(written), ...written }))
  .describe('What a new database begins with.');

const strategyOf = (written: { readonly seed?: unknown; readonly snapshot?: unknown }) =>
  written.seed !== undefined ? 'seed' : written.snapshot !== undefined ? 'snapshot' : 'empty';

const instance = z.strictObject({
  name: name.describe('The component that this database is.'),
  type: z.literal('postgres').describe('The database system.'),
  version: text().optional().describe('Its version, in quotes.'),
  template: databaseTemplate.optional(),
  connection: z
    .strictObject({
      env_var: z
        .string()
        .regex(/^[A-Za-z_]\w*$/, 'is not a variable name; use letters, digits and _, and begin with no digit')
        .optional()
        .describe('The variable that services find the address in. Default `DATABASE_URL`.'),
      database: template('database.instances.connection.database').optional().describe('The name of the database.'),
    })
    .optional()
    .describe('How services reach it.'),
});

const schema = z
  .strictObject({
    enabled: z.boolean().optional().describe('Whether there are databases at all. Default `true`.'),
    instances: list(instance)
      .refine(...distinctNames)
      .optional()
      .describe('The databases of an environment, each a component.'),
  })
  .describe('Databases that live and die with the environment.');

export const database = section({
  name: 'database',
  schema,
  available: { enabled: [false] },
  components: ({ enabled, instances = [] }) =>
    (enabled === false ? [] : instances).map(({ name: one, type: engine, version }, index) => ({
      name: one,
      kind: componentKinds.Database,
      values: version === undefined ? { engine } : { engine, version },
      path: ['instances', index],
    })),
});
