import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { networkInterfaces } from 'node:os';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { bubblewrap } from '../../../test/parts/bubblewrap.ts';
import { describeWith } from '../../../test/parts/describe-with.ts';
import { OrdinaryUser } from '../../../test/parts/ordinary-user.ts';

/** Answers every question about a name with one address. */
const startResolver = async (): Promise<string | undefined> => {
  const [host] = Object.values(networkInterfaces()).flatMap((all = []) =>
    all.filter((one) => one.family === 'IPv4' && !one.internal),
  );
  if (host === undefined) return undefined;
  const socket = createSocket('udp4');
  onTestFinished(() => void socket.close());
  socket.on('message', (question, { port, address }) => {
    const name = question.subarray(12, question.indexOf(0, 12) + 5);
    const isAddress = name.at(-3) === 1;
    const header = Buffer.from([0x81, 0x80, 0, 1, 0, isAddress ? 1 : 0, 0, 0, 0, 0]);
    const answer = Buffer.from([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 198, 51, 100, 7]);
    socket.send(Buffer.concat([question.subarray(0, 2), header, name, ...(isAddress ? [answer] : [])]), port, address);
  });
  socket.bind(53, host.address);
  await once(socket, 'listening');
  return host.address;
};

const run = async (user: OrdinaryUser, words: readonly string[], env = {}): Promise<{ code: number | null; output: string }> => {
  const child = user.spawn([user.node, ...words], env);
  if (child.stdout === null || child.stderr === null) throw new Error('it has no output');
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: child.exitCode, output: output + errors };
};

/** Root has no sandbox, so all suites of this provider run a second time. */
describeWith(bubblewrap, 'the provider of an ordinary user', () => {
  it.skipIf(process.getuid?.() !== 0)(
    'everything holds for an ordinary user, whose services are confined',
    { timeout: 600_000 },
    async () => {
      const resolver = await startResolver();
      using user = new OrdinaryUser(resolver === undefined ? {} : { resolver, env: { EPH_TEST_RESOLVER: resolver } });
      const ofEphd = [
        'test/chaos/chaos.test.ts',
        'test/e2e/hostile-fork.test.ts',
        'test/e2e/exec.test.ts',
        'test/e2e/port-forward.test.ts',
      ];
      const suites = ['packages/providers/process', ...ofEphd];
      const words = ['node_modules/vitest/vitest.mjs', 'run', '--configLoader', 'native', ...suites];
      const { code, output } = await run(user, words, { EPH_PARTS: process.env.EPH_PARTS });
      expect(code, output).toBe(0);
      expect(output).toContain('sandbox.test.ts');
      expect(output).not.toMatch(/↓.*(bubblewrap|cgroups)/);
    },
  );

  it.skipIf(process.getuid?.() !== 0)('the demo says that its services run in a sandbox', { timeout: 120_000 }, async () => {
    using user = new OrdinaryUser();
    const { code, output } = await run(user, ['apps/ephd/demo/main.ts', '--once']);
    expect(code, output).toBe(0);
    expect(output).toContain('Services run in a sandbox.');
  });
});
