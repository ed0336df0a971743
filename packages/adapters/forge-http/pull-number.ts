import { EphError, type SourceRef } from '@eph/contract';

/** The number of a pull request; undefined if a forge can have no such one. */
export const parseNumber = ({ kind, name }: SourceRef): number | undefined =>
  kind === 'pr' && /^[1-9]\d{0,8}$/.test(name) ? Number(name) : undefined;

export const requireNumber = (ref: SourceRef, shown: string): number => {
  const number = parseNumber(ref);
  if (number === undefined)
    throw new EphError('forge.refused', `${shown} has no pull request ${JSON.stringify(ref.name.slice(0, 40))}.`);
  return number;
};
