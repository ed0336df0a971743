import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type ComponentName, EphError } from '@eph/contract';
import { loopback } from './ports.ts';

/** One connection to a port of this machine, which ends with any of the signals. */
export const connectPort = async (
  component: ComponentName,
  port: number,
  signal: AbortSignal,
  life: AbortSignal,
): Promise<Socket> => {
  // Services listen on either.
  const socket = (await open(loopback, port, signal)) ?? (await open('::1', port, signal));
  if (socket === undefined) throw notListening(component, port);
  const ending = AbortSignal.any([signal, life]);
  const end = (): void => void socket.destroy();
  ending.addEventListener('abort', end, { once: true });
  socket.once('close', () => ending.removeEventListener('abort', end));
  if (ending.aborted) end();
  return socket;
};

export const notListening = (component: ComponentName, port: number): EphError =>
  new EphError('component.not_ready', `${component} does not listen on port ${port}.`);

/** Undefined where nobody accepts. */
const open = async (host: string, port: number, signal: AbortSignal): Promise<Socket | undefined> => {
  signal.throwIfAborted();
  // What ends one side only ends a request, and the answer is still to come.
  const socket = connect({ host, port, allowHalfOpen: true, noDelay: true });
  try {
    await once(socket, 'connect', { signal });
    return socket;
  } catch {
    socket.destroy();
    signal.throwIfAborted();
    return undefined;
  }
};
