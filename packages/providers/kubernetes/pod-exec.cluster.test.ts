import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { describeWith } from '../../../test/parts/describe-with.ts';
import { node } from '../../../test/parts/node.ts';
import { execInComponent } from './pod-exec.ts';
import { environment, openTestPods, type TestPods, web } from './pods-harness.fake.ts';

const serve = 'trap "exit 0" TERM; while :; do sleep 1; done';

const run = async ({ cluster, pods }: TestPods, command: readonly string[]): Promise<string> => {
  const abort = new AbortController();
  onTestFinished(() => abort.abort());
  const { output, errors } = await execInComponent(cluster, pods, environment, web, { command, signal: abort.signal });
  errors.resume();
  return (await text(output)).trim();
};

describeWith(node, 'a command beside a component', () => {
  it('runs in the main container of the newest pod that is ready', async () => {
    const pods = await openTestPods();
    await pods.start('web-1', { containers: { proxy: serve, web: `name=old; ${serve}` } });
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    await pods.start('web-2', { containers: { proxy: serve, web: `name=new; ${serve}` } });
    await pods.start('web-3', { containers: { web: 'exit 1' }, until: () => true });
    expect(await run(pods, ['sh', '-c', "hostname; tr '\\0' ' ' < /proc/1/cmdline"])).toMatch(/^web-2\nsh -c name=new/);
  });

  it('runs where there is no shell, and says that nothing can end it', async () => {
    const pods = await openTestPods();
    const { image } = pods.test;
    const mounts = (paths: readonly string[]) => paths.map((mountPath, index) => ({ name: `v${index}`, mountPath }));
    await pods.start('web-1', {
      containers: { web: undefined },
      pod: {
        initContainers: [
          {
            name: 'copy',
            image,
            command: ['cp', '/bin/busybox', '/tools/busybox'],
            volumeMounts: mounts(['/tools']),
            securityContext: { runAsUser: 0 },
          },
        ],
        containers: [
          { name: 'web', image, command: ['/tools/busybox', 'sleep', '1000'], volumeMounts: mounts(['/tools', '/bin']) },
        ],
        volumes: ['v0', 'v1'].map((name) => ({ name, emptyDir: {} })),
      },
    });
    expect(await run(pods, ['/tools/busybox', 'echo', 'hello'])).toBe('hello');
    const abort = new AbortController();
    const command = ['/tools/busybox', 'sleep', '1000'];
    const session = await execInComponent(pods.cluster, pods.pods, environment, web, { command, signal: abort.signal });
    abort.abort();
    await expect(session.exited).rejects.toMatchObject({ message: expect.stringContaining('no shell') });
  });
});
