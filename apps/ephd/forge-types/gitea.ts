import { createGiteaServer } from '@eph/adapters/forge-gitea/gitea-server';
import { z } from 'zod';
import { githubEvents, readFullNames } from '../webhooks/dialect.ts';
import { verifySignature } from '../webhooks/verification.ts';
import { address, type ForgeType, secret, toTokenSettings } from './forge-type.ts';

export const gitea = {
  schema: z
    .strictObject({ type: z.literal('gitea'), url: address, token: secret, webhook_secret: secret.optional() })
    .transform(toTokenSettings(createGiteaServer)),
  dialect: {
    credentialHeader: 'x-gitea-signature',
    createVerify: verifySignature(''),
    eventHeader: 'x-gitea-event',
    events: new Set([...githubEvents, 'pull_request_approved', 'pull_request_rejected', 'pull_request_comment']),
    listEvents: new Set(['repository']),
    repositoriesIn: readFullNames,
  },
  webUrlOf: (url) => url,
  nestedOwners: false,
  // Gitea has no limit of its own: ten a second are little for the server of a team.
  readingsPerMinute: 600,
} as const satisfies ForgeType;
