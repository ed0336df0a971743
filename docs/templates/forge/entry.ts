import { z } from 'zod';
import { type ForgeType, secret, toTokenSettings } from '../../../apps/ephd/forge-types/forge-type.ts';
import { verifyToken } from '../../../apps/ephd/webhooks/verification.ts';
import { createTemplateServer } from './server.ts';

const payloadSchema = z.looseObject({ repository: z.string() });

/** Belongs in `apps/ephd/forge-types`, and in the table of `apps/ephd/forge-types.ts`. */
export const template = {
  schema: z
    // Use `address` for a forge that is reached over HTTP.
    .strictObject({ type: z.literal('template'), url: z.string(), token: secret, webhook_secret: secret.optional() })
    .transform(toTokenSettings(createTemplateServer)),
  dialect: {
    credentialHeader: 'x-template-token',
    createVerify: verifyToken,
    eventHeader: 'x-template-event',
    events: new Set(['push', 'pull_request']),
    listEvents: new Set(['repository']),
    repositoriesIn(payload) {
      const { data, success } = payloadSchema.safeParse(payload);
      return success ? [data.repository] : undefined;
    },
  },
  webUrlOf: (url) => url,
  nestedOwners: false,
  // Say here what limit the forge publishes, and what share of it readings may use.
  readingsPerMinute: 600,
} as const satisfies ForgeType;
