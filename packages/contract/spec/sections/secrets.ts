import { z } from 'zod';
import { notBoth, onlyWith, requiredWith } from '../rules.ts';
import { list, name, template, text } from '../scalars.ts';
import { section } from '../section.ts';

const schema = z
  .strictObject({
    provider: z
      .enum(['kubernetes', 'vault', 'aws-secrets-manager'])
      .optional()
      .describe('Where secrets are kept. Default: what is described below it.'),
    kubernetes: z
      .strictObject({
        copy_from_namespace: name
          .optional()
          .describe('The namespace from which secrets are copied. Default: the first from which the operator allows it.'),
        secrets: list(text()).describe('The secrets to copy, by name. Which ones may be copied, the operator says.'),
      })
      .optional()
      .describe('For the provider `kubernetes`.'),
    vault: z
      .strictObject({
        path: template('secrets.vault.path', 500).describe('Where the secrets of an environment lie.'),
        role: text().optional().describe('The role with which they are read.'),
      })
      .optional()
      .describe('For the provider `vault`.'),
  })
  .refine(...notBoth('vault', 'kubernetes'))
  .refine(...onlyWith('kubernetes', 'provider', 'kubernetes'))
  .refine(...onlyWith('vault', 'provider', 'vault'))
  .refine(...requiredWith('vault', 'provider', 'vault'))
  .describe('Where the secrets of an environment come from.');

export const secrets = section({
  name: 'secrets',
  schema,
  beside: {
    section: 'kubernetes',
    available: { provider: ['kubernetes'], kubernetes: { copy_from_namespace: true, secrets: true } },
  },
});
