import { createServer } from 'node:http';
import { type Duplex, duplexPair } from 'node:stream';

/** The port on which every component of the fake answers HTTP requests. */
export const fakePort = 80;

/** A connection to such a component, which is alive until its life ends. */
export const openFakeConnection = (signal: AbortSignal, life: AbortSignal): Duplex => {
  signal.throwIfAborted();
  const [ours, theirs] = duplexPair();
  const server = createServer((_request, response) => response.end('it answers\n'));
  server.emit('connection', theirs);
  const ending = AbortSignal.any([signal, life]);
  const end = (): void => {
    theirs.destroy();
    ours.destroy();
  };
  ending.addEventListener('abort', end, { once: true });
  ours.once('close', () => ending.removeEventListener('abort', end));
  return ours;
};
