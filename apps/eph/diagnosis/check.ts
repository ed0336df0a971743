/**
 * One line of a diagnosis.
 * - `attention`: it works, but somebody should know.
 * - `unknown`: it could not be checked. That is never ok.
 */
export type Check =
  | { readonly name: string; readonly state: 'ok'; readonly message: string }
  | { readonly name: string; readonly state: Remark; readonly message: string /** What to do. */; readonly advice: string };

type Remark = 'attention' | 'failing' | 'unknown';

/** Ways to end a check of this name. */
type Named = { readonly ok: (message: string) => Check } & {
  readonly [state in Remark]: (message: string, advice: string) => Check;
};

export const createCheck = (name: string): Named => {
  const remark = (state: Remark) => (message: string, advice: string) => ({ name, state, message, advice });
  return {
    ok: (message) => ({ name, state: 'ok', message }),
    attention: remark('attention'),
    failing: remark('failing'),
    unknown: remark('unknown'),
  };
};

/** The first line of an error says what is wrong, and the others what to do, where it has any. */
export const splitMessage = (error: unknown, otherwise: string): readonly [message: string, advice: string] => {
  const [message = '', ...advice] = (error instanceof Error ? error.message : String(error)).split('\n');
  return [message, advice.join(' ') || otherwise];
};

/** What goes wrong while something is checked says nothing about it. */
export const attempt = async (name: string, check: () => Promise<readonly Check[] | Check>): Promise<readonly Check[]> => {
  try {
    return [await check()].flat();
  } catch (error) {
    const [message, advice] = splitMessage(error, 'Mend that, and run `eph wtf` again.');
    return [createCheck(name).unknown(`not checked: ${message}`, advice)];
  }
};
