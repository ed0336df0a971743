import { z } from 'zod';
import { notBoth, onlyWith, requiredWith } from '../rules.ts';
import { cidr, list, template, text } from '../scalars.ts';

const protection = z
  .strictObject({
    type: z
      .enum(['none', 'basic', 'oauth'])
      .optional()
      .describe('How visitors show who they are. Default `none`, or what is described below it.'),
    basic_auth: z
      .strictObject({
        username: text().describe('The name to type.'),
        password: template('security.environment_access.protection.basic_auth.password')
          .regex(/\$\{/, 'must come from the server, such as ${PREVIEW_PASSWORD}: what is in the repository is no secret')
          .describe('The password to type, from a variable of the server.'),
      })
      .optional()
      .describe('For the type `basic`.'),
    oauth: z
      .strictObject({
        provider: text().describe('Who knows the visitors, such as `github`.'),
        allowed_orgs: list(text()).optional().describe('Members of these organisations may enter.'),
        allowed_teams: list(text()).optional().describe('Members of these teams may enter.'),
      })
      .optional()
      .describe('For the type `oauth`.'),
  })
  .refine(...notBoth('oauth', 'basic_auth'))
  .refine(...onlyWith('basic_auth', 'type', 'basic'))
  .refine(...onlyWith('oauth', 'type', 'oauth'))
  .refine(...requiredWith('basic_auth', 'type', 'basic'))
  .refine(...requiredWith('oauth', 'type', 'oauth'))
  .describe('How visitors show who they are.');

const schema = z
  .strictObject({
    environment_access: z
      .strictObject({
        default: z
          .enum(['public', 'protected'])
          .optional()
          .describe('Whether anybody who has the address may enter. Default `public`.'),
        allowed_ips: list(cidr, 100).optional().describe('Only visitors from these ranges of addresses may enter.'),
        protection: protection.optional(),
      })
      .optional()
      .describe('Who may enter an environment.'),
    naming: z
      .strictObject({
        strategy: z.literal('readable').optional().describe('Words and a number that nobody can guess.'),
        include_project: z.boolean().optional().describe('Whether the name begins with the project. Default `true`.'),
      })
      .optional()
      .describe('How addresses are chosen.'),
  })
  .describe('Who may enter, and what addresses look like.');

const available = {
  environment_access: { default: ['public'], protection: { type: ['none'] } },
  naming: { strategy: true, include_project: [true] },
} as const;
export const security = { name: 'security', schema, available } as const;
