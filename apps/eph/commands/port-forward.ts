import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { EnvironmentDetailView } from '@eph/contract';
import { CommandFailure } from '../command-failure.ts';
import type { Context } from '../context.ts';
import { exitCodes } from '../exit-codes.ts';
import { findEnvironment } from '../find-environment.ts';

const loopback = '127.0.0.1';

interface Ports {
  readonly local: number;
  readonly remote: number;
}

type Component = EnvironmentDetailView['components'][number];

/** Until Ctrl-C. What is connected to may be replaced meanwhile, or be away: whoever connects reaches what is there then. */
export const portForward = async (context: Context, name: string, words: readonly string[]): Promise<void> => {
  const { client, out, err, json } = context;
  const [asked, ports] = words.length === 1 ? [undefined, parsePorts(words[0])] : [words[0], parsePorts(words[1])];
  const environment = await findEnvironment(client, name);
  const component = chooseComponent(environment, asked);
  const signal = context.interruption();
  const faults = new Faults((message) => err.lines([`eph: ${message}`]));
  const visitors = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true }, (visitor) => {
    visitors.add(visitor);
    visitor.on('error', () => undefined).once('close', () => visitors.delete(visitor));
    const input = { id: environment.id, component: component.name, port: ports.remote };
    void client.carryPort(input, visitor, signal).then(
      () => visitor.destroySoon(),
      (error: unknown) => {
        if (!signal.aborted && !visitor.destroyed) faults.tell(error);
        visitor.resetAndDestroy();
      },
    );
  });
  const local = await listen(server, ports);
  try {
    const address = `${loopback}:${local}`;
    if (json) await out.jsonLine({ address, component: component.name, port: ports.remote });
    else
      await out.lines([`${address} leads to port ${ports.remote} of ${component.name} in ${environment.name}; Ctrl-C ends it.`]);
    if (component.current === null) await err.lines([`eph: ${component.name} is not ready yet${why(component)}`]);
    if (!signal.aborted) await once(signal, 'abort');
  } finally {
    server.close();
    for (const visitor of visitors) visitor.destroy();
  }
};

const parsePorts = (text = ''): Ports => {
  const [, local, remote = ''] = /^(?:(\d{1,5}):)?(\d{1,5})$/.exec(text) ?? [];
  const ports = { local: Number(local ?? remote), remote: Number(remote) };
  if (remote !== '' && ports.remote >= 1 && ports.remote <= 65_535 && ports.local <= 65_535) return ports;
  throw new CommandFailure(
    'cli.usage',
    `${JSON.stringify(text)} is no port: write 8080, or 3000:8080 to listen on port 3000 here.`,
    {
      exitCode: exitCodes.usage,
    },
  );
};

const chooseComponent = ({ name, components }: EnvironmentDetailView, asked: string | undefined): Component => {
  const found =
    asked === undefined
      ? (components.find(({ entry }) => entry) ?? components[0])
      : components.find((component) => component.name === asked);
  if (found !== undefined) return found;
  const names = components.map((component) => component.name).join(', ') || 'none yet';
  const what = asked === undefined ? 'no component' : `no component ${JSON.stringify(asked)}`;
  throw new CommandFailure('api.not_found', `${name} has ${what}; it has: ${names}.`, { exitCode: exitCodes.notFound });
};

const why = ({ next }: Component): string => (next === null || next.message === '' ? '.' : `: ${next.message}`);

const listen = async (server: Server, { local, remote }: Ports): Promise<number> => {
  server.listen(local, loopback);
  try {
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = code === 'EADDRINUSE' ? 'another program listens there' : code === 'EACCES' ? 'you may not' : message;
    throw new CommandFailure(
      'port.unavailable',
      `eph cannot listen on port ${local}: ${reason}. Choose another one, such as ${local + 1_024}:${remote}, or 0:${remote} for any.`,
    );
  }
};

/** A browser connects again and again. Said once, until something else is wrong. */
class Faults {
  readonly #print: (message: string) => Promise<void>;
  #last = '';

  constructor(print: (message: string) => Promise<void>) {
    this.#print = print;
  }

  tell(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    if (message === this.#last) return;
    this.#last = message;
    void this.#print(message);
  }
}
