import { type ExitCode, exitCodes } from './exit-codes.ts';

export interface FailureOptions {
  readonly exitCode?: ExitCode;
  readonly cause?: unknown;
}

/**
 * Why a command ends without having done its work. The code is any string: those of ephd are passed on as they came, also the ones
 * that a newer ephd knows and this program does not.
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
