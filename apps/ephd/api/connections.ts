import type { Socket } from 'node:net';

const mostUnproven = 2_000;

/**
 * The connections of a listener over which nobody has proved yet who they are. Beyond the limit, the oldest one of the address
 * that has most of them is closed, so that a newcomer gets its turn. A limit for each address would refuse newcomers instead: on
 * loopback and behind a proxy all have the same one.
 */
export class Connections {
  /** By address, and there by port: what a request over TLS knows as its socket is not the one that was accepted. */
  readonly #unproven = new Map<string, Map<number, Socket>>();
  #count = 0;

  add(socket: Socket): void {
    const { remoteAddress: address, remotePort: port } = socket;
    // Closed again already.
    if (address === undefined || port === undefined) return;
    const sockets = this.#unproven.get(address) ?? new Map<number, Socket>();
    this.#unproven.set(address, sockets.set(port, socket));
    this.#count += 1;
    socket.once('close', () => this.#remove(address, port, socket));
    if (this.#count > mostUnproven) this.#closeOne();
  }

  /** Its caller is known now, and may take as long as it likes. */
  prove({ remoteAddress: address, remotePort: port }: Pick<Socket, 'remoteAddress' | 'remotePort'>): void {
    if (address !== undefined && port !== undefined) this.#remove(address, port, this.#unproven.get(address)?.get(port));
  }

  #remove(address: string, port: number, socket: Socket | undefined): void {
    const sockets = this.#unproven.get(address);
    if (socket === undefined || sockets?.get(port) !== socket) return;
    sockets.delete(port);
    this.#count -= 1;
    if (sockets.size === 0) this.#unproven.delete(address);
  }

  #closeOne(): void {
    const [most] = [...this.#unproven].toSorted(([, one], [, other]) => other.size - one.size);
    const [oldest] = most?.[1] ?? [];
    if (most === undefined || oldest === undefined) return;
    this.#remove(most[0], ...oldest);
    oldest[1].destroy();
  }
}
