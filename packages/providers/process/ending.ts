import { constants } from 'node:os';

/** How a process ended. A shell reports that a signal ended its command as a code above 128. */
export const describeEnd = (code: number | null, signal: string | null, isSandboxed: boolean): string => {
  const number = isSandboxed ? (code ?? 0) - 128 : 0;
  const name = signal ?? Object.entries(constants.signals).find(([, value]) => value === number)?.[0];
  if (name !== undefined) return `It was ended by ${name}.`;
  return code === 0 ? 'It exited with code 0; run it in the foreground.' : `It exited with code ${code}.`;
};
