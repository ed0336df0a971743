import { Writable } from 'node:stream';
import { EphError, parseJson } from '@eph/contract';
import type { ExecSession } from '@eph/engine/provider/provider';
import { type ChannelSource, type Channels, openChannels } from './channels.ts';
import { listAt, textAt } from './fields.ts';
import { Inflow } from './inflow.ts';
import { type PodName, podPath } from './pod-path.ts';

export interface PodCommand {
  readonly container: string;
  /** Empty attaches to what the container runs. */
  readonly command: readonly string[];
  readonly terminal?: { readonly columns: number; readonly rows: number };
}

/** Of the protocol `v5.channel.k8s.io`. */
const channel = { input: 0, output: 1, errors: 2, status: 3, resize: 4, close: 255 } as const;

/**
 * Runs a command in a container. When the signal aborts the connection ends, and `exited` rejects. The command goes on, also with a
 * terminal: it hears of that only if it reads its input.
 */
export const runInPod = async (
  source: ChannelSource,
  pod: PodName,
  { container, command, terminal }: PodCommand,
  signal: AbortSignal,
): Promise<ExecSession> => {
  const { cluster } = source;
  const inflow = new Inflow();
  const [output, errors] = [inflow.createStream(), inflow.createStream()];
  const { promise: exited, resolve, reject } = Promise.withResolvers<number>();
  // It may end before anybody asks.
  exited.catch(() => undefined);
  const shown = `a command in ${container} of pod ${pod.namespace}/${pod.name}`;
  const channels = await openChannels(
    source,
    {
      verb: 'create',
      kind: 'other',
      shown,
      protocols: ['v5.channel.k8s.io', 'v4.channel.k8s.io'],
      path: podPath(pod, command.length === 0 ? 'attach' : 'exec', [
        ['container', container],
        ['stdin', true],
        ['stdout', true],
        ['stderr', terminal === undefined],
        ['tty', terminal !== undefined],
        ...command.map((word) => ['command', word] as const),
      ]),
    },
    {
      received(from, bytes) {
        if (from === channel.output) inflow.push(output, bytes);
        else if (from === channel.errors) inflow.push(errors, bytes);
        else if (from === channel.status) settle(bytes, shown, resolve, reject);
      },
      closed(error) {
        for (const stream of [output, errors]) if (!stream.destroyed) stream.push(null);
        // Has no effect after a status.
        reject(error ?? new EphError('cluster.unreachable', `Cluster ${cluster} did not say how ${shown} ended.`));
      },
    },
    signal,
  );
  inflow.connect(channels);
  const resize = (columns: number, rows: number): void =>
    channels.send(channel.resize, Buffer.from(JSON.stringify({ Width: columns, Height: rows })), () => undefined);
  if (terminal !== undefined) resize(terminal.columns, terminal.rows);
  return { input: createInput(channels), output, errors, resize, exited };
};

const createInput = (channels: Channels): Writable =>
  new Writable({
    write: (chunk: Buffer, _encoding, done) => channels.send(channel.input, chunk, done),
    // Before version 5 there was no way to say that the input ends.
    final: (done) => (channels.protocol.startsWith('v5') ? channels.send(channel.close, Buffer.of(channel.input), done) : done()),
  });

/** The kubelet tells how the command ended as the API server tells of failures. */
const settle = (bytes: Buffer, shown: string, resolve: (code: number) => void, reject: (error: unknown) => void): void => {
  const status = parseJson(bytes.toString());
  if (textAt(status, 'status') === 'Success') return resolve(0);
  const cause = listAt(status, 'details', 'causes').find((one) => textAt(one, 'reason') === 'ExitCode');
  const code = Number(textAt(cause, 'message'));
  if (cause !== undefined && Number.isInteger(code)) return resolve(code);
  reject(
    new EphError('component.not_ready', `${shown} could not run: ${textAt(status, 'message') ?? 'the node does not say why'}.`),
  );
};
