import { z } from 'zod';
import { onlyWith } from '../rules.ts';
import { template } from '../scalars.ts';

const routing = z
  .strictObject({
    strategy: z
      .enum(['subdomain', 'path', 'header'])
      .optional()
      .describe('How a request names its environment. Default `subdomain`. A header works with every strategy.'),
    path_prefix: template('networking.routing.path_prefix')
      .startsWith('/', 'must begin with /')
      .optional()
      .describe('For the strategy `path`: what its paths begin with.'),
    header: z
      .string()
      .regex(/^[\w!#$%&'*+.^`|~-]{1,100}$/, 'must be the name of a header, such as X-Eph-Environment')
      .optional()
      .describe('For the strategy `header`: the header that names it. Default `X-Eph-Environment`.'),
  })
  .refine(...onlyWith('path_prefix', 'strategy', 'path', 'subdomain'))
  .refine(...onlyWith('header', 'strategy', 'header', 'subdomain'))
  .describe('How a request names its environment.');

const tls = z
  .strictObject({
    enabled: z.boolean().optional().describe('Whether traffic is encrypted.'),
    provider: z.enum(['cert-manager', 'letsencrypt', 'self-signed']).optional().describe('Who issues the certificates.'),
  })
  .describe('Encryption.');

const schema = z.strictObject({ routing: routing.optional(), tls: tls.optional() }).describe('How environments are reached.');

const available = {
  routing: { strategy: ['subdomain', 'header'], header: ['X-Eph-Environment'] },
  tls: { enabled: [false] },
} as const;
export const networking = { name: 'networking', schema, available } as const;
