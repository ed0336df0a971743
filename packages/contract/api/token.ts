/**
 * The file with the token of the API on this port: ephd writes it, and clients of the same user read it. Undefined where the
 * variables do not name a folder of the user.
 */
export const apiTokenFile = (variables: Readonly<Record<string, string | undefined>>, port: number): string | undefined => {
  const { XDG_STATE_HOME: state, HOME: home } = variables;
  // The XDG specification ignores relative paths.
  const folder = state?.startsWith('/') === true ? state : home && `${home}/.local/state`;
  return folder ? `${folder}/eph/token-${port}` : undefined;
};
