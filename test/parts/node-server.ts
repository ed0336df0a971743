import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ClusterAccess, type ClusterAddress, type ClusterServer } from './cluster-server.ts';
import { answering, archiveFiles } from './node-image.ts';
import type { NodeMachine } from './node-machine.ts';
import { OciLayout } from './oci-layout.ts';
import type { RunningPart } from './part.ts';

const execute = promisify(execFile);

export interface NodeAddress {
  readonly cluster: ClusterAddress;
  /** The program that speaks to containerd, and where containerd listens. */
  readonly ctr: string;
  readonly socket: string;
}

/** A running cluster with a node. */
export class NodeAccess {
  readonly address: NodeAddress;
  readonly cluster: ClusterAccess;

  constructor(address: NodeAddress) {
    this.address = address;
    this.cluster = new ClusterAccess(address.cluster);
  }

  /** An image that answers requests for `/` on port 8080 with the text, or with what `ANSWER` is set to, and has a shell. */
  loadAnswer(name: string, tag: string, text: string): Promise<string> {
    return this.loadImage(name, tag, answering(text));
  }

  /**
   * Puts an image on the node under its name with the tag, and under its name with its digest, which is returned: no pod can pull
   * anything. It runs as `execution` says, in words of the image specification. Without other files, it has a shell and its tools.
   */
  async loadImage(
    name: string,
    tag: string,
    execution: Readonly<Record<string, unknown>>,
    putFiles?: (folder: string) => Promise<void>,
  ): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'eph-image-'));
    try {
      const layout = new OciLayout(join(folder, 'layout'));
      const digest = layout.addImage(tag, { files: await archiveFiles(putFiles), execution });
      const archive = join(folder, 'image.tar');
      await execute('tar', ['-cf', archive, '-C', layout.folder, '.']);
      await this.ctr('images', 'import', '--base-name', name, '--digests', archive);
      return `${name}@${digest}`;
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** What `ctr` prints about the images and containers of Kubernetes. */
  async ctr(...args: readonly string[]): Promise<string> {
    const { ctr, socket } = this.address;
    return (await execute(ctr, ['--address', socket, '--namespace', 'k8s.io', ...args])).stdout;
  }
}

export interface NodeInstance extends NodeAddress {
  readonly machine: NodeMachine;
  readonly server: ClusterServer;
}

/** A cluster of one's own, with a node. */
export class NodeServer extends NodeAccess implements RunningPart {
  readonly folder: string;
  readonly port: number;
  readonly #instance: NodeInstance;

  constructor(folder: string, instance: NodeInstance) {
    super(instance);
    this.folder = folder;
    this.port = instance.server.port;
    this.#instance = instance;
  }

  async stop(): Promise<void> {
    await this.cluster.api.close();
    await this.#instance.server.stop();
    await this.#instance.machine.stop();
    await rm(this.folder, { recursive: true, force: true });
  }
}
