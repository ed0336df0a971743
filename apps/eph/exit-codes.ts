/** What scripts go by. Stable, like the codes of errors. */
export const exitCodes = {
  ok: 0,
  failure: 1,
  usage: 2,
  notFound: 3,
  unreachable: 4,
  notReady: 5,
  stalled: 6,
  invalid: 7,
} as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

export const exitCodesHelp = `Exit codes:
  0  done
  1  it failed, and the message says why
  2  the command line is wrong
  3  nothing has that name, or several environments fit it
  4  ephd does not answer
  5  status <environment>: it is not ready yet
  6  status <environment>: it failed or stalled; a person or a new commit must act
  7  config validate: the file has faults or goes beyond a limit`;
