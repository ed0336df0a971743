import { createGitlabServer } from '@eph/adapters/forge-gitlab/gitlab-server';
import { z } from 'zod';
import { verifyToken } from '../webhooks/verification.ts';
import { address, type ForgeType, secret, toTokenSettings } from './forge-type.ts';

const payloadSchema = z.looseObject({ project: z.looseObject({ path_with_namespace: z.string() }).nullish() });

export const gitlab = {
  schema: z
    .strictObject({
      type: z.literal('gitlab'),
      url: address.default('https://gitlab.com'),
      token: secret,
      webhook_secret: secret.optional(),
    })
    .transform(toTokenSettings(createGitlabServer)),
  dialect: {
    credentialHeader: 'x-gitlab-token',
    createVerify: verifyToken,
    eventHeader: 'x-gitlab-event',
    events: new Set(['Push', 'Tag Push', 'Merge Request', 'Note', 'Pipeline', 'Member', 'System'].map((name) => `${name} Hook`)),
    listEvents: new Set(['Project Hook']),
    repositoriesIn(payload) {
      const { data, success } = payloadSchema.safeParse(payload);
      return success ? [data.project?.path_with_namespace ?? []].flat() : undefined;
    },
  },
  webUrlOf: (url) => url,
  nestedOwners: true,
  // A third of the 2,000 requests a minute that gitlab.com allows a user; the rest is for reports and for people.
  readingsPerMinute: 600,
} as const satisfies ForgeType;
