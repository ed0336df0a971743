import { webUrlOf } from '@eph/adapters/forge-github/git-url';
import { createGithubServer } from '@eph/adapters/forge-github/github-server';
import { z } from 'zod';
import { githubEvents, readFullNames } from '../webhooks/dialect.ts';
import { verifySignature } from '../webhooks/verification.ts';
import { address, type CreateServer, type ForgeType, isMap, type ReadSecret, secret } from './forge-type.ts';

const checks = ['pull_request_review', 'check_run', 'check_suite'];
const settings = ['label', 'member', 'public', 'installation', 'installation_repositories'];

const app = z.strictObject({ id: z.union([z.string(), z.number()]), key: secret, installation: z.int().optional() });

export const github = {
  schema: z
    .strictObject({
      type: z.literal('github'),
      url: address.default('https://api.github.com'),
      token: secret.optional(),
      app: app.optional(),
      webhook_secret: secret.optional(),
    })
    .refine((given) => (given.token === undefined) !== (given.app === undefined), {
      message: 'give one of token and app',
      when: isMap,
    })
    .transform(({ token = { from: '' }, app: given, ...rest }) => ({
      ...rest,
      readCredentials: (read: ReadSecret): CreateServer => {
        const auth =
          given === undefined
            ? { token: read('token', token).value }
            : { appId: given.id, privateKey: read('app', given.key).value, installationId: given.installation };
        return (options) => createGithubServer({ ...options, baseUrl: rest.url, auth });
      },
    })),
  dialect: {
    credentialHeader: 'x-hub-signature-256',
    createVerify: verifySignature('sha256='),
    eventHeader: 'x-github-event',
    events: new Set([...githubEvents, ...checks, ...settings]),
    listEvents: new Set(['repository', 'public', 'installation', 'installation_repositories']),
    repositoriesIn: readFullNames,
  },
  webUrlOf,
  nestedOwners: false,
  // A reading is one request to the API and one of Git. Together they use less than half of GitHub's published secondary
  // limit of 900 a minute, because reports and commands need requests too.
  readingsPerMinute: 200,
} as const satisfies ForgeType;
