import { z } from 'zod';
import type { ErrorCode, Failure } from '../errors.ts';

/** Every error of the API, as `application/problem+json` (RFC 9457). */
export const problemSchema = z.object({
  type: z.literal('about:blank'),
  /** What the status means. */
  title: z.string(),
  status: z.number().int(),
  /** What is wrong. */
  detail: z.string(),
  /** Stable: for programs. */
  code: z.string(),
  /** What to do about it; absent where `detail` says all. */
  hint: z.string().exactOptional(),
  /** Names this request in the log of ephd. */
  requestId: z.string(),
});
export type Problem = z.output<typeof problemSchema>;

export const problemType = 'application/problem+json';

/** What the status of an error means. 500 is a bug of ephd and no part of the API. */
export const problemTitles = {
  400: 'Bad request',
  401: 'Not signed in',
  403: 'Not allowed',
  404: 'Not found',
  405: 'Method not allowed',
  409: 'Conflict',
  413: 'Too large',
  429: 'Too many requests',
  502: 'Refused elsewhere',
  503: 'Not available now',
} as const;
export type ProblemStatus = keyof typeof problemTitles;

/** What to do about an error; null where its message says that, or where nobody has to do anything. */
export const hints: { readonly [code in ErrorCode]: string | null } = {
  'forge.unreachable': 'Ask again soon. `eph wtf` shows which forges answer.',
  'forge.incomplete': 'Ask again soon.',
  'forge.refused': 'An operator of ephd has to check the token of the forge and its rights.',
  'source.commit_missing': 'Ask again soon, or check that the commit was pushed.',
  'spec.missing': 'Add an `eph.yaml` to the repository; `eph init` writes one.',
  'spec.invalid': 'Correct `eph.yaml` and push it; `eph config validate` checks it before.',
  'spec.unreadable': 'Ask again soon.',
  'reference.unknown': 'Correct the reference in `eph.yaml` and push it.',
  'reference.cycle': 'Take one of these references out of `eph.yaml` and push it.',
  'reference.waiting': null,
  'reference.refused': 'Correct the reference in `eph.yaml` and push it.',
  'artifact.missing': null,
  'artifact.not_found': 'Push the image, or correct its name in `eph.yaml`.',
  'registry.unreachable': 'Ask again soon.',
  'registry.refused': 'An operator of ephd has to check the credentials of the registry.',
  'provider.unknown': 'Correct the name in `eph.yaml`; `eph providers` shows which there are.',
  'isolation.missing': 'An operator of ephd has to install what is missing; `eph wtf` shows it.',
  'provider.unreachable': 'Ask again soon. `eph wtf` shows which providers answer.',
  'provider.incomplete': 'Ask again soon. `eph wtf` shows which providers answer.',
  'cluster.unreachable': 'Ask again soon. `eph wtf` shows which providers answer.',
  'cluster.refused': 'An operator of ephd has to check its credentials and rights for the cluster.',
  'object.missing': 'Ask again soon.',
  'object.conflict': 'Ask again soon.',
  'object.expired': 'Ask again soon.',
  'object.immutable': 'Take the change back, or remove the component with `eph redeploy` so that it is made anew.',
  'object.refused': 'Correct what the message names and push it, or ask an operator for a higher quota.',
  'component.refused': 'Correct the component in `eph.yaml` and push it.',
  'component.not_ready': null,
  'component.stalled': '`eph logs` shows what the component says.',
  'component.draining': null,
  'component.removing': null,
  'checkout.refused': 'Change the file that it names and push it.',
  'checkout.failed': 'Ask again soon.',
  'disk.full': 'An operator of ephd has to make room on its disk.',
  'port.unavailable': 'Ask again soon.',
  'report.failed': null,
  'store.unreachable': 'Ask again soon. Only history is missing; environments do not depend on it.',
  'access.unavailable': 'Ask again soon. Until a revocation has succeeded, its token may be valid after ephd was started again.',
  'lease.held': null,
  'plan.held': 'An operator can let it go with `eph release`.',
  'plan.superseded': null,
  'plan.paused': '`eph pause --off` takes the label off.',
  'plan.expired': '`eph up` asks for it again.',
  'source.checks': null,
  'config.invalid': 'An operator of ephd has to correct its configuration.',
  'config.missing': 'An operator of ephd has to complete its configuration.',
  'config.unreadable': 'Ask again soon.',
  'policy.exceeded': 'Ask for less in `eph.yaml`, or ask an operator to raise the limit.',
  'policy.full': 'Remove an environment that nobody needs with `eph down`.',
  'feature.unavailable': null,
  'api.not_found': '`eph list` shows what there is and you may see.',
  'api.method_not_allowed': null,
  'api.bad_request': null,
  'api.conflict': null,
  'api.forbidden': 'Ask an administrator for the role. `eph auth why` says which rule decides.',
  'api.unauthorized': 'Sign in with `eph auth login`, or send `Authorization: Bearer` with a token.',
  'api.standby': 'Ask again soon, or ask the ephd that leads.',
  'api.starting': 'Ask again soon.',
  'api.too_many': 'Wait for the seconds in `Retry-After`.',
  'api.too_large': null,
  'api.too_slow': null,
  'api.stopping': 'Ask again soon.',
  internal: 'Report it with the request id; the log of ephd has more.',
};

/** How a stream or a command ends that ephd ends. */
export const endSchema = problemSchema.pick({ code: true, hint: true }).extend({ message: z.string() });
export type End = z.output<typeof endSchema>;

export const toEnd = ({ code, message }: Pick<Failure, 'code' | 'message'>): End => {
  const hint = hints[code];
  return { code, message, ...(hint !== null && { hint }) };
};
