import { z } from 'zod';
import { notBoth, onlyWith, requiredWith } from '../rules.ts';
import { list, name, template, text } from '../scalars.ts';

const schema = z
  .strictObject({
    provider: z
      .enum(['kubernetes', 'vault', 'aws-secrets-manager'])
      .optional()
      .describe('Where secrets are kept. Default: what is described below it.'),
    kubernetes: z
      .strictObject({
        copy_from_namespace: name.optional().describe('The namespace from which secrets are copied.'),
        secrets: list(text()).describe('The secrets to copy, by name.'),
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

export const secrets = { name: 'secrets', schema } as const;
