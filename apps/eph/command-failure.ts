import { type ExitCode, exitCodes } from './exit-codes.ts';

export interface FailureOptions {
  readonly exitCode?: ExitCode;
  readonly cause?: unknown;
}

/**
 * Why a command failed. The code may be any string, because codes of ephd are passed on, also those of a newer version.
 */
export class CommandFailure extends Error {
  readonly code: string;
  readonly exitCode: ExitCode;

  constructor(code: string, message: string, { exitCode = exitCodes.failure, cause }: FailureOptions = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'CommandFailure';
    this.code = code;
    this.exitCode = exitCode;
  }
}
