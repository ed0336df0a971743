import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { describeWith } from './describe-with.ts';
import { node } from './node.ts';
import type { NodeAccess } from './node-server.ts';
import { processesIn } from './processes-in.ts';
import { findSharedNode } from './shared-node.ts';

describeWith(node, 'node', () => {
  let server: NodeAccess;
  let namespace: string;
  let image: string;

  beforeAll(async () => {
    server = await findSharedNode();
    namespace = await server.cluster.createNamespace('node-test');
    image = await server.loadAnswer('registry.example.com/node-test', '1', 'apples');
  });

  const kubectl = (...args: readonly string[]): Promise<string> => server.cluster.kubectl('--namespace', namespace, ...args);

  const apply = async (path: string, body: unknown): Promise<void> =>
    void (await server.cluster.api.send('POST', path.replace('*', `namespaces/${namespace}`), { body }));

  it('runs pods of an image by its digest, which answer each other through a service and log it', async () => {
    await kubectl('create', 'deployment', 'shop', `--image=${image}`, '--replicas=2');
    await kubectl('expose', 'deployment', 'shop', '--port=80', '--target-port=8080');
    await kubectl('rollout', 'status', 'deployment/shop', '--timeout=60s');
    const address = await kubectl('get', 'service', 'shop', '--output=jsonpath={.spec.clusterIP}');
    const ask = (): Promise<string> =>
      kubectl('exec', 'deployment/shop', '--', 'wget', '-qO-', `http://${address}`).catch(String);
    await expect.poll(ask).toBe('apples\n');
    expect(await kubectl('logs', '--selector=app=shop')).toContain('url:/');
  });

  it('forwards a port of this machine to a pod', async () => {
    await kubectl('run', 'till', `--image=${image}`, '--env=ANSWER=pears');
    await kubectl('wait', 'pod/till', '--for=condition=Ready', '--timeout=60s');
    const { address } = server.cluster;
    const args = ['--kubeconfig', address.kubeconfig, '--namespace', namespace, 'port-forward', 'pod/till', ':8080'];
    const forward = spawn(address.kubectl, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void forward.kill());
    const [line] = (await once(forward.stdout.setEncoding('utf8'), 'data')) as [string];
    const port = /127\.0\.0\.1:(\d+)/.exec(line)?.[1] ?? '';
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('pears\n');
  });

  it('keeps a volume for the next pod', async () => {
    await apply('/api/v1/*/persistentvolumeclaims', {
      metadata: { name: 'stock' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Mi' } } },
    });
    const run = async (name: string, command: string): Promise<string> => {
      const volumes = [{ name: 'stock', persistentVolumeClaim: { claimName: 'stock' } }];
      const volumeMounts = [{ name: 'stock', mountPath: '/stock' }];
      // Volumes of this cluster belong to root.
      const securityContext = { runAsUser: 0 };
      const containers = [{ name, image, command: ['sh', '-c', command], volumeMounts, securityContext }];
      await apply('/api/v1/*/pods', { metadata: { name }, spec: { restartPolicy: 'Never', containers, volumes } });
      await kubectl('wait', `pod/${name}`, '--for=jsonpath={.status.phase}=Succeeded', '--timeout=60s');
      return kubectl('logs', name);
    };
    await run('put', 'echo plums > /stock/fruit');
    expect(await run('take', 'cat /stock/fruit')).toBe('plums\n');
  });

  it('ends with all its pods when the process that started it is killed', async () => {
    const script = `
      const { node } = await import(${JSON.stringify(join(import.meta.dirname, 'node.ts'))});
      const server = await node.start();
      const image = await server.loadAnswer('registry.example.com/node-test', '1', 'apples');
      await server.cluster.kubectl('run', 'shop', '--image=' + image);
      await server.cluster.kubectl('wait', 'pod/shop', '--for=condition=Ready', '--timeout=60s');
      console.log(JSON.stringify([server.folder, server.cluster.address.folder, new URL(server.cluster.url).hostname]));
      setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
    const [folder, clusterFolder, address] = JSON.parse(line) as [string, string, string];
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    onTestFinished(() => rm(clusterFolder, { recursive: true, force: true }));
    const processes = (): string[] => [...processesIn(folder), ...processesIn(clusterFolder)];
    const addresses = (): string[] => Object.values(networkInterfaces()).flatMap((one) => (one ?? []).map((it) => it.address));
    expect(processes()).not.toEqual([]);
    expect(addresses()).toContain(address);
    child.kill('SIGKILL');
    await expect.poll(processes).toEqual([]);
    await expect.poll(addresses).not.toContain(address);
  });
});
