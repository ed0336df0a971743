import { connect, createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { identity, never, ProcessHarness, until } from './process-harness.fake.ts';
import { readComponent } from './records.ts';

const late = 'process.env.PORT';

const listening = (port: string, answer: string): string =>
  `'${process.execPath}' -e 'require("net").createServer((socket) => socket.on("error", () => 0).end("${answer}"))` +
  `.listen({ host: "127.0.0.1", port: ${port}, reusePort: true })'`;

const portOf = (harness: ProcessHarness, component: { readonly name: Parameters<typeof readComponent>[1] }): number => {
  const read = readComponent(harness.layout.componentRecord(identity.id, component.name), component.name);
  const { current, next } = read.state === 'read' ? read.record : {};
  return (current ?? next)?.port ?? 0;
};

const fetchText = async (port: number): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of connect(port, '127.0.0.1')) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
};

const probe = new ProcessHarness();
const { isSandboxed, hasNetworks } = probe;
await probe[Symbol.asyncDispose]();

const skipped = isSandboxed ? '' : ' [skipped here: there is no sandbox; ordinary-user.test.ts runs it]';

describe.skipIf(!isSandboxed)(`the port of a service${skipped}`, () => {
  it('that another service shares makes it not ready, until it is alone again', async () => {
    await using harness = new ProcessHarness();
    const victim = harness.component('web', 1, { command: listening(late, 'web') });
    await harness.provider.ensure(identity, victim, never);
    const { outputs } = await harness.untilReady(victim);
    const thief = harness.component('thief', 1, { command: listening(outputs.port ?? '', 'thief'), ready: { kind: 'none' } });
    await harness.provider.ensure(identity, thief, never);
    await until('it is not ready', async () => (await harness.observe('web'))?.current?.health === 'failing');
    expect((await harness.observe('web'))?.current?.message).toBe(
      `It does not answer any more: another program listens on port ${outputs.port} too.`,
    );
    await harness.provider.remove(identity, thief.name, never);
    await harness.untilReady(victim);
  });

  it('is not ready while only another program answers there', async () => {
    await using harness = new ProcessHarness();
    const victim = harness.component('web', 1, {
      command: `while ! test -e "$HOME/go"; do sleep 0.05; done; exec ${listening(late, 'web')}`,
      readyTimeoutSeconds: 0.2,
    });
    await harness.provider.ensure(identity, victim, never);
    const port = portOf(harness, victim);
    const thief = createServer((socket) => socket.on('error', () => undefined).end('thief')).listen({
      host: '127.0.0.1',
      port,
      reusePort: true,
    });
    onTestFinished(() => void thief.close());
    await until(
      'it says why',
      async () => (await harness.observe('web'))?.next?.message.includes(`another program listens on port ${port} too`) === true,
    );
    expect((await harness.observe('web'))?.current).toBeNull();
  });

  it.skipIf(!hasNetworks)('in a network of its own is not ready before the service listens', async () => {
    await using harness = new ProcessHarness();
    const wanted = {
      ...harness.component('web', 1, { command: 'sleep 100', readyTimeoutSeconds: 0.2 }),
      network: { reaches: [] },
    };
    await harness.provider.ensure(identity, wanted, never);
    const port = portOf(harness, wanted);
    await until(
      'it says why',
      async () => (await harness.observe('web'))?.next?.message.includes(`nothing listens on port ${port} inside`) === true,
    );
    const other = { ...harness.component('web', 2, { command: listening(late, 'web') }), network: { reaches: [] } };
    await harness.provider.ensure(identity, other, never);
    const { outputs } = await harness.untilReady(other);
    expect(await fetchText(Number(outputs.port))).toBe('web');
  });
});
