import { Socket } from 'node:net';

/** A connection from an address and port, without a network. */
export const socketOf = (remoteAddress: string, remotePort: number): Socket =>
  Object.defineProperties(new Socket(), { remoteAddress: { value: remoteAddress }, remotePort: { value: remotePort } });
