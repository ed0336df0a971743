import { expect, it, onTestFinished } from 'vitest';
import { eventually } from '../e2e/eventually.ts';
import { cluster } from '../parts/cluster.ts';
import type { ClusterAccess } from '../parts/cluster-server.ts';
import { describeWith } from '../parts/describe-with.ts';
import { findSharedCluster } from '../parts/shared-cluster.ts';
import { runChaos } from './chaos.ts';
import { ClusterWorld, createClusterWorlds } from './cluster-world.ts';

const never = new AbortController().signal;

const open = async (): Promise<ClusterAccess> => {
  const access = await findSharedCluster();
  onTestFinished(() => access.api.close());
  return access;
};

describeWith(cluster, 'a chaos run on a cluster', () => {
  it('converges whenever ephd is killed', { timeout: 240_000 }, async () => {
    const lines: string[] = [];
    await using worlds = await createClusterWorlds(await open());
    const result = await runChaos({ worlds, kills: 5, seed: 7, workers: 1, print: (line) => lines.push(line), signal: never });
    expect(result, lines.join('\n')).toEqual({
      kills: 5,
      settles: 3,
      converged: 3,
      orphans: 0,
      doubles: 0,
      wrongDeletions: 0,
      faults: 0,
    });
  });

  it('detects what is left, what is there twice and what is removed although its branch exists', {
    timeout: 120_000,
  }, async () => {
    const access = await open();
    await using worlds = await createClusterWorlds(access);
    await using world = await worlds.create();
    if (!(world instanceof ClusterWorld)) throw new Error('another world');
    const ephd = await world.harness.start(world.startOptions);
    await world.push('preview/one', 'page');
    const settled = async (): Promise<boolean> => (await world.compare(ephd.pid)).differences.length === 0;
    await eventually('the observed state matches Git', settled, 60);
    expect(await world.settled()).toEqual([]);
    expect([...world.doubles, ...world.wrongDeletions]).toEqual([]);

    const { id, name } = await readNamespace(access, world.owner);
    const stray = { name: 'stray', labels: { 'eph.io/owner': world.owner } };
    await access.api.send('POST', `/api/v1/namespaces/${name}/configmaps`, { body: { metadata: stray } });
    const { orphans } = await world.compare(ephd.pid);
    expect(orphans).toEqual([`ConfigMap stray in namespace ${name} is left`]);
    await ephd.kill();
    const twin = { name: `${name}-twin`, labels: { 'eph.io/owner': world.owner, 'eph.io/environment': id } };
    await access.api.send('POST', '/api/v1/namespaces', { body: { metadata: twin } });
    await eventually('a double', () => [...world.doubles].some((one) => one.includes(`${id} has two namespaces`)));
    await access.api.send('DELETE', `/api/v1/namespaces/${name}`);
    await eventually('a wrong deletion', () => [...world.wrongDeletions].some((one) => one.includes(`namespace ${name}`)));
    await access.api.send('DELETE', `/api/v1/namespaces/${twin.name}`);
  });
});

const readNamespace = async ({ api }: ClusterAccess, owner: string): Promise<{ readonly id: string; readonly name: string }> => {
  interface List {
    readonly items: readonly {
      readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
    }[];
  }
  const { items } = await api.send<List>('GET', `/api/v1/namespaces?labelSelector=eph.io%2Fowner%3D${owner}`);
  const { name = '', labels = {} } = items[0]?.metadata ?? {};
  return { name, id: labels['eph.io/environment'] ?? '' };
};
