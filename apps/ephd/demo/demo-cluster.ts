import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { publishAnswer } from '../../../test/e2e/node-images.ts';
import { node } from '../../../test/parts/node.ts';
import { getCommand } from '../../../test/parts/part.ts';
import { registry } from '../../../test/parts/registry.ts';
import { skopeo } from '../../../test/parts/skopeo.ts';
import { locateCluster } from '../provider-types/kubernetes-cluster.ts';
import { print } from './steps.ts';

/** Where the environments of the demo are made. */
export interface DemoCluster extends AsyncDisposable {
  /** For people. */
  readonly title: string;
  readonly kubeconfig: string;
  /** It has a shell and an HTTP server. */
  readonly image: string;
  /** The host of a registry without TLS. */
  readonly registry?: string;
}

/** The cluster that kubectl would take, if somebody agrees, or else one that is started for the demo. */
export const chooseCluster = async (isAgreed: boolean): Promise<DemoCluster> => {
  const location = locateCluster({}, { KUBECONFIG: process.env['KUBECONFIG'], HOME: process.env['HOME'] });
  if (!('kubeconfig' in location) || !existsSync(location.kubeconfig)) return await startCluster();
  const { kubeconfig } = location;
  const context = /^current-context:\s*["']?([^"'\n]+)/m.exec(readFileSync(kubeconfig, 'utf8'))?.[1]?.trim() ?? '';
  if (context === '') throw new Error(`${kubeconfig} has no current context; choose one with kubectl config use-context`);
  const title = `cluster ${context} of ${kubeconfig}`;
  if (!isAgreed && !(await ask(title))) throw new Error(`${title} is left alone`);
  return { title, kubeconfig, image: 'busybox:1.37', [Symbol.asyncDispose]: () => Promise.resolve() };
};

const ask = async (title: string): Promise<boolean> => {
  if (!process.stdin.isTTY) throw new Error(`nobody can be asked whether to use ${title}; add --yes if that is right`);
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    const answer = await terminal.question(`Make a namespace for the demo in ${title}, and remove it afterwards? [y/N] `);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    terminal.close();
  }
};

const startCluster = async (): Promise<DemoCluster> => {
  const missing = [node, registry, skopeo].flatMap((part) => {
    const finding = part.find();
    return finding.found ? [] : [`${part.name} (${finding.reason})`];
  });
  if (missing.length > 0)
    throw new Error(
      `there is no kubeconfig, and no cluster can be started without ${missing.join(', ')}. Set KUBECONFIG, or try: ${getCommand('node', 'registry', 'skopeo')}`,
    );
  print('Starting a cluster with one node.');
  await using stack = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'eph-demo-image-'));
  stack.defer(() => rmSync(folder, { recursive: true, force: true }));
  const machine = await node.start();
  stack.defer(() => machine.stop());
  const images = await registry.start({});
  stack.defer(() => images.stop());
  const image = await publishAnswer(machine, images, folder);
  const { kubeconfig } = machine.cluster;
  const all = stack.move();
  return {
    title: 'a cluster of its own',
    kubeconfig,
    image,
    registry: images.host,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
};
