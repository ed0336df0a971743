import { EphError, isEphError } from '@eph/contract';

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;

/** Any other error leaves open whether it exists. */
export const isAbsent = (error: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '');

export const isDiskFull = (error: unknown): boolean => ['ENOSPC', 'EDQUOT'].includes(codeOf(error) ?? '');

export const isPermission = (error: unknown): boolean => ['EACCES', 'EPERM'].includes(codeOf(error) ?? '');

export const sentence = (error: unknown): string => (error instanceof Error ? error.message : String(error));

export const toDiskError = (error: unknown, what: string): unknown => {
  if (isEphError(error) || codeOf(error) === undefined || codeOf(error) === 'ABORT_ERR') return error;
  if (isDiskFull(error)) {
    return new EphError('disk.full', `${what}: the disk that holds the data folder is full. Free some space.`, { cause: error });
  }
  return new EphError('provider.unreachable', `${what}: ${sentence(error)}.`, { cause: error });
};
