import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { publishAnswer } from '../e2e/node-images.ts';
import { node } from '../parts/node.ts';
import { getCommand } from '../parts/part.ts';
import { registry } from '../parts/registry.ts';
import { skopeo } from '../parts/skopeo.ts';
import { type RunningEphd, until } from './bench-ephd.ts';
import { atMost, type Figure, median, missing } from './figure.ts';
import { KubeSite } from './kube-site.ts';

const rounds = 9;
const figures = ['kube-create', 'kube-delete'] as const;
const pollMs = 20;

const run = promisify(execFile);

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const start = performance.now();
  await work();
  return performance.now() - start;
};

const untilReady = (ephd: RunningEphd): Promise<void> =>
  until('an environment that is ready', async () => (await ephd.environments()).some(({ phase }) => phase === 'Ready'), pollMs);

const untilGone = (ephd: RunningEphd): Promise<void> =>
  until('removal', async () => (await ephd.environments()).length === 0, pollMs);

/** An environment of ten objects, from the push of its branch until it is ready, and until it is gone: over kubectl with the same objects. */
export const measureKubeCreate = async (): Promise<readonly Figure[]> => {
  if (![node, registry, skopeo].every((part) => part.find().found))
    return figures.map((name) => missing(name, getCommand('node', 'registry', 'skopeo')));
  await using stack = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'eph-bench-'));
  stack.defer(() => rmSync(folder, { recursive: true, force: true }));
  const machine = await node.start();
  stack.defer(() => machine.stop());
  const images = await registry.start({});
  stack.defer(() => images.stop());
  const { kubeconfig, address } = machine.cluster;
  const image = await publishAnswer(machine, images, folder);
  const site = stack.use(new KubeSite({ kubeconfig, registry: images.host, image }));
  const kubectl = async (...args: string[]): Promise<void> => {
    await run(address.kubectl, ['--kubeconfig', kubeconfig, ...args]);
  };
  const byHand = async (namespace: string): Promise<void> => {
    const inside = ['--namespace', namespace];
    await kubectl('create', 'namespace', namespace);
    await kubectl('apply', '--server-side', ...inside, '--filename', site.manifests);
    await kubectl('wait', ...inside, '--for=condition=Available', '--all', 'deployment', '--timeout=120s');
  };
  const ephd = await site.start();
  stack.defer(() => ephd.stop());
  const [created, deleted, createdByHand, deletedByHand] = [[], [], [], []] as [number[], number[], number[], number[]];
  // The first of each is not counted: the node has to unpack the image.
  for (let round = 0; round <= rounds; round += 1) {
    const namespace = `by-hand-${round}`;
    const make = async (): Promise<void> => {
      site.change('create', round, round + 1);
      await untilReady(ephd);
    };
    const remove = async (): Promise<void> => {
      site.change('delete', round, round + 1);
      await untilGone(ephd);
    };
    const times = [
      await timed(make),
      await timed(remove),
      await timed(() => byHand(namespace)),
      await timed(() => kubectl('delete', 'namespace', namespace)),
    ] as const;
    if (round === 0) continue;
    for (const [index, all] of [created, deleted, createdByHand, deletedByHand].entries()) all.push(times[index] ?? 0);
  }
  return [
    atMost('kube-create', median(created) / median(createdByHand), 1.2),
    atMost('kube-delete', median(deleted) / median(deletedByHand), 1.5),
  ];
};
