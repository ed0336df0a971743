/**
 * One line of a diagnosis.
 * - `attention`: it works, but somebody should know.
 * - `unknown`: it could not be checked. That is never ok.
 */
export interface Check {
  readonly name: string;
  readonly state: 'ok' | 'attention' | 'failing' | 'unknown';
  readonly message: string;
  /** What to do. */
  readonly advice?: string;
}

type Named = (message: string, advice?: string) => Check;

/** Ways to end a check of this name. */
export const createCheck = (name: string): Readonly<Record<Check['state'], Named>> => {
  const state =
    (one: Check['state']): Named =>
    (message, advice) => ({ name, state: one, message, ...(advice === undefined ? {} : { advice }) });
  return { ok: state('ok'), attention: state('attention'), failing: state('failing'), unknown: state('unknown') };
};

/** What goes wrong while something is checked says nothing about it. */
export const attempt = async (name: string, check: () => Promise<readonly Check[] | Check>): Promise<readonly Check[]> => {
  try {
    return [await check()].flat();
  } catch (error) {
    return [createCheck(name).unknown(`not checked: ${error instanceof Error ? error.message : String(error)}`)];
  }
};
