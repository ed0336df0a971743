import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describeConnect } from '@eph/engine/provider/connect.contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { describeWith } from '../../../test/parts/describe-with.ts';
import { node } from '../../../test/parts/node.ts';
import { ForwardedPorts } from './forwarded-ports.ts';
import { connectToComponent } from './pod-connection.ts';
import { environment, openTestPods, type TestPods, web } from './pods-harness.fake.ts';

const answers = (text: string): string =>
  `mkdir -p /tmp/www; echo ${text} > /tmp/www/index.html; exec httpd -f -p 8080 -h /tmp/www`;
/** On connections that stay open, and also when it is told to end. */
const answersAgain = (text: string): string => `trap '' TERM
cat > /tmp/serve <<'END'
while read -r line; do [ \${#line} -gt 1 ] || printf 'HTTP/1.1 200 OK\\r\\nContent-Length: ${text.length}\\r\\n\\r\\n${text}'; done
END
nc -ll -p 8080 -e sh /tmp/serve & while :; do wait; done`;
const silent = 'trap "exit 0" TERM; while :; do sleep 1; done';
const target = { environment, component: web, port: 8080 };

const forward = ({ cluster, pods }: TestPods) => {
  let connections = 0;
  const counted: ConstructorParameters<typeof ForwardedPorts>[0] = {
    pods: {
      connect: (...args) => {
        connections += 1;
        return cluster.pods.connect(...args);
      },
    },
  };
  const ports = new ForwardedPorts(counted, pods);
  onTestFinished(() => ports[Symbol.asyncDispose]());
  return { ports, connections: () => connections };
};

const ask = async (url: string): Promise<string> => {
  const response = await fetch(url, { headers: { connection: 'close' }, signal: AbortSignal.timeout(20_000) });
  return (await response.text()).trim();
};

const open = async (url: string) => {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  return socket;
};

describeWith(node, 'a connection to a component of a cluster', () => {
  describe('keeps the contract of connect', () => {
    describeConnect(async () => {
      const pods = await openTestPods();
      await pods.start('web-1', { containers: { web: answers('apples') }, listensOn: 8080 });
      const { cluster } = pods;
      return {
        provider: { connect: (...args) => connectToComponent(cluster, pods.pods, ...args) },
        environment,
        component: web,
        port: 8080,
        remove: () => pods.remove('web-1'),
      };
    });
  });
});

describeWith(node, 'a forwarded port', () => {
  it('leads to a pod that is ready, keeps its address, and connects only when somebody does', async () => {
    const test = await openTestPods();
    const { ports, connections } = forward(test);
    const named = { ...target, port: 'http' };
    const url = await ports.urlFor('one web', named);
    expect(await Promise.all([ports.urlFor('one web', named), ports.urlFor('one web', named)])).toEqual([url, url]);
    await expect(ask(url)).rejects.toThrow('fetch failed');
    expect(connections()).toBe(0);
    await test.start('web-1', {
      containers: { web: answers('apples') },
      listensOn: 8080,
      ports: [{ name: 'http', containerPort: 8080 }],
    });
    expect(await ask(url)).toBe('apples');
    await test.remove('web-1');
    await test.start('web-2', {
      containers: { web: answers('pears') },
      listensOn: 8080,
      ports: [{ name: 'http', containerPort: 8080 }],
    });
    expect(await ask(url)).toBe('pears');
  });

  it('loses no request to a pod that does not listen', async () => {
    const test = await openTestPods();
    await test.start('web-1', { containers: { web: silent } });
    await test.start('web-2', { containers: { web: answers('apples') }, listensOn: 8080 });
    const { ports, connections } = forward(test);
    const url = await ports.urlFor('one web', target);
    const requests = Array.from({ length: 10 }, () => ask(url));
    expect(new Set(await Promise.all(requests))).toEqual(new Set(['apples']));
    // Some of them went to the other one first.
    expect(connections()).toBeGreaterThan(10);
    await test.remove('web-2');
    await expect(ask(url)).rejects.toThrow('fetch failed');
  });

  it('answers the next request of a connection by another pod when the first one is about to end', async () => {
    const test = await openTestPods();
    const { ports } = forward(test);
    await test.start('web-1', { containers: { web: answersAgain('apples') }, listensOn: 8080, graceSeconds: 60 });
    const socket = await open(await ports.urlFor('one web', target));
    const answer = async (): Promise<string> => {
      socket.write('POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n');
      const [bytes] = (await once(socket, 'data')) as [Buffer];
      return bytes.toString().trim().split('\n').at(-1) ?? '';
    };
    expect([await answer(), await answer()]).toEqual(['apples', 'apples']);
    await test.start('web-2', { containers: { web: answersAgain('pears') }, listensOn: 8080 });
    const kind = { apiVersion: 'v1', kind: 'Pod' };
    const name = { namespace: test.test.namespace, name: 'web-1' };
    await test.cluster.delete(kind, name, { propagation: 'Background' }, new AbortController().signal);
    expect([await answer(), await answer()]).toEqual(['pears', 'pears']);
  });

  it('carries much, both ways, and waits for whoever does not read', async () => {
    const test = await openTestPods();
    await test.start('web-1', { containers: { web: 'exec nc -ll -p 8080 -e cat' }, listensOn: 8080 });
    const { ports } = forward(test);
    const socket = await open(await ports.urlFor('one web', target));
    socket.pause();
    // More than all the buffers on the way, which the kernels of ten sockets make as large as they like.
    const bytes = 250_000_000;
    const piece = Buffer.alloc(1_000_000, 'x');
    let written = 0;
    const sent = (async () => {
      while (written < bytes) {
        const goesOn = socket.write(piece);
        written += piece.length;
        if (!goesOn) await once(socket, 'drain');
      }
    })();
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    expect(written).toBeLessThan(bytes);
    let length = 0;
    for await (const chunk of socket) {
      length += (chunk as Buffer).length;
      if (length === bytes) break;
    }
    await sent;
    expect(length).toBe(bytes);
  });

  it('ends connections to pods that are gone, and all with the port', async () => {
    const test = await openTestPods();
    await test.start('web-1', { containers: { web: answers('apples') }, listensOn: 8080 });
    const { ports, connections } = forward(test);
    const urls = await Promise.all(['one', 'two'].map((key) => ports.urlFor(key, target)));
    const [one, two] = await Promise.all(urls.map(open));
    one?.write('GET / HTTP/1.1\r\n');
    two?.write('GET / HTTP/1.1\r\n');
    await expect.poll(connections).toBe(2);
    ports.closeAllBut(new Set(['two']));
    if (one === undefined || two === undefined) throw new Error('both are open');
    expect(await text(one).catch(() => '')).toBe('');
    await expect(ask(urls[0] ?? '')).rejects.toThrow('fetch failed');
    const closed = once(two.resume(), 'close');
    await test.remove('web-1');
    await closed;
    expect(connections()).toBe(2);
  });
});
