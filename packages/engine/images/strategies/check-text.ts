import { findInChecks } from '../stated-images.ts';
import { proposeStated, type Strategy } from './strategy.ts';

/** The text of a check that the trigger waits for. */
export const findByCheck: Strategy = async (request) => {
  const checks = await request.checks();
  if (checks.length === 0) return undefined;
  const stated = findInChecks(checks, request.image);
  return stated === undefined ? { none: 'no check names it' } : proposeStated(stated, `check ${stated.check}`, request);
};
