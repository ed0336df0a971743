/** A long-running command that prints its result. */
export interface ChaosCommand<Options> {
  readonly help: string;
  /** Throws an error with a readable message if the arguments are invalid. */
  readonly parse: () => Options | 'help';
  /** Resolves with the exit status; may throw once the signal is aborted. */
  readonly run: (options: Options, signal: AbortSignal) => Promise<number>;
}

/** Exit status 2: invalid arguments; 130: Ctrl-C. */
export const runCommand = async <Options>({ help, parse, run }: ChaosCommand<Options>): Promise<number> => {
  let options: Options | 'help';
  try {
    options = parse();
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${help}`);
    return 2;
  }
  if (options === 'help') {
    console.log(help);
    return 0;
  }
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort());
  const { signal } = interrupted;
  try {
    const status = await run(options, signal);
    return signal.aborted ? 130 : status;
  } catch (error) {
    if (signal.aborted) return 130;
    throw error;
  }
};

export const parseWhole = (text: string | undefined, fallback: number): number => {
  const value = text === undefined ? fallback : Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new TypeError(`${text} is not a whole number above zero`);
  return value;
};
