import { z } from 'zod';
import { type Permission, permissions, scopes } from '../access/permissions.ts';
import { personText } from '../access/person.ts';
import { projectPattern } from '../access/project-pattern.ts';
import { durationText } from '../spec/scalars.ts';
import { eventIdText } from './history.ts';
import { whole } from './query-values.ts';

/** Who the caller is for ephd, and what limits them besides the rules. */
export const accountSchema = z.object({
  /** `file`: with the token that ephd writes to a file at each start. `session`: with a link of `eph dashboard`. */
  how: z.enum(['file', 'token', 'session']),
  /** `<issuer>#<subject>`; null for whoever can read the token file. */
  person: z.string().nullable(),
  tokenId: z.string().nullable(),
  scope: z.enum(scopes),
  /** Patterns for names of projects; null for all that the person has. */
  projects: z.array(z.string()).nullable(),
  expiresAt: z.string().nullable(),
  /** The time of ephd, by which it decides whether a token has expired. */
  now: z.string(),
});
export type AccountView = z.output<typeof accountSchema>;

export const accessQuerySchema = z.strictObject({
  person: personText.optional().describe('Whom it is about, as `<issuer>#<subject>`; you without it.'),
  permission: z
    .enum(Object.keys(permissions) as [Permission, ...Permission[]])
    .describe('What they would do, such as `logs.read`.'),
  environment: z.string().min(1).max(200).optional().describe('With this environment.'),
  project: z.string().min(1).max(63).optional().describe('In this project; without both, on the server.'),
});

export const decisionSchema = z.object({
  person: z.string().nullable(),
  allowed: z.boolean(),
  /** Names the rule with its file and line. */
  because: z.string(),
  /** Why the rules may not be those of the newest commit. */
  faults: z.array(z.string()),
});
export type DecisionView = z.output<typeof decisionSchema>;

export const tokenRequestSchema = z.strictObject({
  person: personText.describe('Whose token it is: `<issuer>#<subject>`. A machine has a subject too.'),
  scope: z.enum(scopes).describe(`What it may do at most: ${scopes.map((scope) => `\`${scope}\``).join(', ')}.`),
  projects: z
    .array(projectPattern)
    .min(1)
    .max(50)
    .optional()
    .describe('Patterns for names of projects; all that the person has without it.'),
  for: durationText('365d').describe('How long it is valid, such as `30d`.'),
});

const token = z.object({
  id: z.string(),
  person: z.string(),
  scope: z.enum(scopes),
  projects: z.array(z.string()).nullable(),
  createdAt: z.string(),
  expiresAt: z.string(),
});

/** ephd does not keep the token itself: this is the only time it is shown. */
export const newTokenSchema = token.extend({ token: z.string() });
export type NewToken = z.output<typeof newTokenSchema>;

export const tokenQuerySchema = z.strictObject({
  person: personText.optional().describe('Only of this person, as `<issuer>#<subject>`.'),
  after: eventIdText.optional().describe('`next` of the page before.'),
  limit: whole(1, 1000).default(100).describe('At most so many.'),
});

export const tokenListSchema = z.object({
  /** Those that history remembers, newest first. Tokens are not stored, so one that is not here can still be valid. */
  tokens: z.array(
    token.extend({
      /** `ended`: the key that signed it is not used any more, or the list of revoked tokens was lost. `unknown`: cannot be said now. */
      state: z.enum(['valid', 'expired', 'revoked', 'ended', 'unknown']),
    }),
  ),
  /** For `after`; null on the last page. */
  next: z.string().nullable(),
});
export type TokenList = z.output<typeof tokenListSchema>;

export const revocationQuerySchema = z.strictObject({
  person: personText.describe('All tokens of this person that exist now.'),
});

export const revocationAnswerSchema = z.object({
  /** Why the database does not have it yet; null where it has it. It counts already, and is repeated until the database has it. */
  missing: z.string().nullable(),
});
export type RevocationView = z.output<typeof revocationAnswerSchema>;

/** A code for a browser: it counts once, and for ten minutes. */
export const sessionCodeSchema = z.object({
  code: z.string(),
  /** Opens the dashboard with the code in the fragment, which browsers do not send. */
  url: z.string(),
  expiresAt: z.string(),
});

export const sessionRequestSchema = z.strictObject({
  code: z.string().min(1).max(100).describe('What is after `#code=` in the link.'),
});

/** What a page sends as its token until then, or until ephd stops. */
export const sessionSchema = z.object({ token: z.string(), expiresAt: z.string() });
