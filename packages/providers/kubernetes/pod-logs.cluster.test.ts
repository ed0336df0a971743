import type { LogEntry, LogOptions } from '@eph/engine/provider/provider';
import { systemClock } from '@eph/engine/time/system-clock';
import { openCluster } from '@eph/kube/cluster';
import { listAt, numberAt } from '@eph/kube/fields';
import type { KubeObject } from '@eph/kube/object';
import { expect, it, onTestFinished } from 'vitest';
import { describeWith } from '../../../test/parts/describe-with.ts';
import { node } from '../../../test/parts/node.ts';
import { followPodLogs } from './pod-logs.ts';
import { environment, openTestPods, type TestPods, web } from './pods-harness.fake.ts';

const never = new AbortController().signal;

const read = ({ cluster, pods }: TestPods, options: Partial<LogOptions> = {}): Promise<LogEntry[]> =>
  Array.fromAsync(followPodLogs(cluster, pods, environment, web, { tail: 1_000, follow: false, signal: never, ...options }));

/** What is read while it goes on. */
const follow = ({ cluster, pods }: TestPods, options: Partial<LogOptions> = {}) => {
  const abort = new AbortController();
  onTestFinished(() => abort.abort());
  const entries: LogEntry[] = [];
  const ended = (async () => {
    const wanted = { tail: 1_000, follow: true, signal: abort.signal, ...options };
    for await (const entry of followPodLogs(cluster, pods, environment, web, wanted)) entries.push(entry);
  })();
  return { entries, ended, abort, texts: () => entries.map(({ text }) => text) };
};

const count = (name: string, seconds: number): string =>
  `number=0; while [ $number -lt 5 ]; do number=$((number + 1)); echo ${name}$number; sleep ${seconds}; done; sleep 1000`;

const restartsOf = (pod: KubeObject): number => numberAt(listAt(pod, 'status', 'containerStatuses')[0], 'restartCount') ?? 0;

describeWith(node, 'the log of a component', () => {
  it('has the lines of all pods and containers by time, and the last of them', async () => {
    const test = await openTestPods();
    await test.start('web-1', { containers: { web: count('a', 0.3), proxy: count('b', 0.3) } });
    await test.start('web-2', { containers: { web: count('c', 0.3) } });
    await expect.poll(async () => (await read(test)).length).toBe(15);
    const entries = await read(test);
    const times = entries.map(({ at }) => at ?? '');
    expect(times).toEqual(times.toSorted());
    expect(new Set(entries.map(({ part }) => part))).toEqual(new Set(['web-1/web', 'web-1/proxy', 'web-2']));
    expect(entries.filter(({ part }) => part === 'web-1/proxy').map(({ text }) => text)).toEqual(['b1', 'b2', 'b3', 'b4', 'b5']);
    expect(await read(test, { tail: 4 })).toEqual(entries.slice(-4));
    expect(await read(test, { tail: 0 })).toEqual([]);
    const [, , , , , middle] = entries;
    const since = new Date(middle?.at ?? '');
    expect(await read(test, { since })).toEqual(entries.filter(({ at }) => (at ?? '') >= since.toISOString()));
  });

  it('goes on with lines as they come, of pods that join as well, each once, until the component is gone', async () => {
    const test = await openTestPods();
    await test.start('web-1', { containers: { web: count('a', 0.7) } });
    const { texts, ended } = follow(test);
    await expect.poll(texts).toContain('a2');
    await test.start('web-2', { containers: { web: count('b', 0.1) } });
    await expect.poll(() => texts().length).toBe(10);
    await test.remove('web-1');
    await test.start('web-3', { containers: { web: count('c', 0.1) } });
    await expect.poll(() => texts().length).toBe(15);
    expect(texts().toSorted()).toEqual(['a', 'b', 'c'].flatMap((name) => [1, 2, 3, 4, 5].map((number) => `${name}${number}`)));
    test.forget();
    await ended;
  });

  it('begins with what is new if nothing older is asked for', async () => {
    const test = await openTestPods();
    await test.start('web-1', { containers: { web: 'echo old; sleep 4; echo new; sleep 1000' } });
    await expect.poll(async () => (await read(test)).length).toBe(1);
    const { texts } = follow(test, { tail: 0 });
    await expect.poll(texts).toEqual(['new']);
  });

  it('goes on after a container was started again, and has the run before that on request', async () => {
    const test = await openTestPods();
    const script = 'echo started; sleep 3; echo ends; exit 1';
    await test.start('web-1', { containers: { web: script } });
    expect(await read(test, { previous: true, follow: true })).toEqual([]);
    const { texts } = follow(test);
    await expect.poll(texts).toEqual(['started', 'ends', 'started']);
    const [pod] = test.pods.podsOf(environment, web) ?? [];
    expect(pod && restartsOf(pod)).toBe(1);
    const previous = await read(test, { previous: true, follow: true });
    expect(previous.map(({ text }) => text)).toEqual(['started', 'ends']);
  });

  it('reads no more when nobody takes its lines, and ends all its streams with the reader', async () => {
    const test = await openTestPods();
    await test.start('web-1', { containers: { web: 'yes flood', proxy: 'yes flood' } });
    let [open, lines] = [0, 0];
    const taken = new Map<string, number>();
    const cluster: Parameters<typeof followPodLogs>[0] = {
      pods: {
        async *log(...args) {
          open += 1;
          try {
            for await (const line of test.cluster.pods.log(...args)) {
              lines += 1;
              yield line;
            }
          } finally {
            open -= 1;
          }
        },
      },
    };
    const options = { tail: 10, follow: true, signal: never };
    for await (const { text, part } of followPodLogs(cluster, test.pods, environment, web, options)) {
      expect(text).toBe('flood');
      taken.set(part, (taken.get(part) ?? 0) + 1);
      // Both follow by now; first they read again what was written in the last second.
      if (taken.size < 2 || Math.min(...taken.values()) < 500) continue;
      const before = lines;
      await new Promise((resolve) => setTimeout(resolve, 500));
      expect(lines - before).toBeLessThan(4);
      expect(open).toBe(2);
      break;
    }
    await expect.poll(() => open).toBe(0);
  });

  it('is refused where there is no such component, and if nothing can be read', async () => {
    const test = await openTestPods();
    await test.start('web-1', { containers: { web: 'echo hello; sleep 1000' } });
    const { node: server, namespace } = test.test;
    const account = { metadata: { name: 'nobody' } };
    await server.cluster.api.send('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { body: account });
    const kubeconfig = await server.cluster.writeKubeconfig(namespace, await server.cluster.createToken(namespace, 'nobody'));
    await using powerless = openCluster({ name: 'node', location: { kubeconfig }, clock: systemClock, random: Math.random });
    for (const wanted of [false, true])
      await expect(read({ ...test, cluster: powerless }, { follow: wanted })).rejects.toMatchObject({ code: 'cluster.refused' });
    test.forget();
    await expect(read(test)).rejects.toMatchObject({ code: 'api.not_found' });
  });
});
