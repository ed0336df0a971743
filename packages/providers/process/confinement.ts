import { EphError } from '@eph/contract';
import type { Context } from './context.ts';
import type { InstanceRecord } from './records.ts';
import type { Command, Confined } from './sandbox.ts';
import type { Service } from './service.ts';
import type { Checkout } from './trees.ts';

export interface Confinement extends Pick<Command, 'home' | 'variables' | 'cache'> {
  readonly command: Service['command'];
  readonly checkout: Checkout;
  /** On which it is reached from outside; 0 if it is not. */
  readonly port: number;
}

/** A command of an instance in its sandbox. */
export const confine = (
  { sandbox }: Context,
  { isConfined, network }: InstanceRecord,
  { command, checkout, home, variables, cache, port }: Confinement,
): Confined => {
  const { isolation } = sandbox;
  if (isolation.state === 'trusted' && (isConfined || network !== undefined))
    throw new EphError('isolation.missing', `it ran in a sandbox, and now there is none: ${isolation.because}.`);
  const words = typeof command === 'string' ? ['sh', '-c', command] : command;
  return sandbox.confine({ ...checkout, words, home, variables, cache, network: network && { ...network, port } });
};
