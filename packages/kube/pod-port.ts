import { Duplex } from 'node:stream';
import { EphError } from '@eph/contract';
import { type ChannelSource, type Channels, openChannels } from './channels.ts';
import { type PodName, podPath } from './pod-path.ts';

const data = 0;
const problems = 1;
/** Each channel begins with the port, in two bytes. */
const portBytes = 2;

/**
 * Resolves before the node has connected: whether something listens there shows in the first bytes, or in an error `component.not_ready`.
 * Then nothing that was written has come anywhere.
 */
export const openPodPort = async (source: ChannelSource, pod: PodName, port: number, signal: AbortSignal): Promise<Duplex> => {
  const shown = `port ${port} of pod ${pod.namespace}/${pod.name}`;
  const left = new Map([
    [data, portBytes],
    [problems, portBytes],
  ]);
  const opened: { channels?: Channels } = {};
  let problem: EphError | undefined;
  /** Without the port at the beginning, which may come in pieces. */
  const withoutPort = (channel: number, bytes: Buffer): Buffer => {
    const skipped = Math.min(left.get(channel) ?? 0, bytes.length);
    left.set(channel, (left.get(channel) ?? 0) - skipped);
    return bytes.subarray(skipped);
  };
  const stream = new Duplex({
    // The protocol cannot end one direction only: what the pod ends is over, and what is ended here goes on until the pod ends it.
    allowHalfOpen: false,
    read: () => opened.channels?.resume(),
    // If it is closing, that says why.
    write: (chunk: Buffer, _encoding, done) => opened.channels?.send(data, chunk, () => done()),
    final: (done) => done(),
    destroy: (error, done) => {
      opened.channels?.close();
      done(error);
    },
  });
  // It may fail before anybody listens; whoever reads it then still hears of that.
  stream.on('error', () => undefined);
  opened.channels = await openChannels(
    source,
    {
      verb: 'create',
      kind: 'other',
      shown,
      path: podPath(pod, 'portforward', [['ports', port]]),
      protocols: ['v4.channel.k8s.io'],
    },
    {
      received(from, bytes) {
        const rest = withoutPort(from, bytes);
        if (rest.length === 0) return;
        if (from === data && !stream.push(rest)) opened.channels?.pause();
        if (from === problems) problem = toProblem(shown, rest.toString());
      },
      closed(error) {
        const why = problem ?? error;
        if (why === undefined) stream.push(null);
        else stream.destroy(why instanceof Error ? why : new Error('the connection was aborted'));
      },
    },
    signal,
  );
  return stream;
};

/** The node tries IPv4 and IPv6, and names addresses and folders of its own. */
const toProblem = (shown: string, said: string): EphError =>
  /failed to connect to|connection refused/i.test(said)
    ? new EphError('component.not_ready', `Nothing listens on ${shown}.`)
    : new EphError('cluster.unreachable', `${shown}: ${said.replace(/\s+/g, ' ').trim().slice(0, 300)}`);
