/** Stable, like error codes: scripts depend on them. */
export const exitCodes = {
  ok: 0,
  failure: 1,
  usage: 2,
  notFound: 3,
  unreachable: 4,
  notReady: 5,
  stalled: 6,
  invalid: 7,
  signIn: 8,
  timedOut: 9,
} as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

export const exitCodesHelp = `Exit codes:
  0  done
  1  failed; the message says why
  2  wrong usage
  3  not found, or several environments match
  4  ephd does not answer, starts, stops or stands by
  5  status <environment>: not ready yet
  6  status <environment>, --wait: failed or stalled; a person or a new commit must act
  7  config validate: the file has faults or exceeds a limit
  8  not signed in, or not allowed; eph auth status shows who you are
  9  no answer or no result in time`;
