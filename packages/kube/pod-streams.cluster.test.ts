import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { describeWith } from '../../test/parts/describe-with.ts';
import { node } from '../../test/parts/node.ts';
import { openTestNode, type TestNode } from './node-harness.fake.ts';
import type { PodCommand } from './pod-exec.ts';
import type { LogLine } from './pod-log.ts';
import type { PodName } from './pod-path.ts';

const never = new AbortController().signal;
const terminal = { columns: 80, rows: 24 };
const script = (source: string): readonly string[] => ['sh', '-c', source];

const start = async (source?: string): Promise<TestNode & { readonly pod: PodName }> => {
  const test = await openTestNode();
  await test.startPod('web', { containers: { web: source } });
  return { ...test, pod: { namespace: test.namespace, name: 'web' } };
};

const abortAtEnd = (): AbortController => {
  const abort = new AbortController();
  onTestFinished(() => abort.abort());
  return abort;
};

const readUntil = async (stream: Readable, expected: string): Promise<string> => {
  let seen = '';
  while (!seen.includes(expected)) {
    const chunk = stream.read() as Buffer | null;
    if (chunk !== null) seen += chunk.toString();
    else if (stream.readableEnded) throw new Error(`it ended after: ${seen}`);
    else await Promise.race([once(stream, 'readable'), once(stream, 'end')]);
  }
  return seen;
};

describeWith(node, 'streams of a pod that runs', () => {
  describe('a command', () => {
    const prepare = async () => {
      const { cluster, pod } = await start('trap "exit 0" TERM; while :; do sleep 1; done');
      const exec = (command: readonly string[], more: Partial<PodCommand> = {}, signal = abortAtEnd().signal) =>
        cluster.pods.exec(pod, { container: 'web', command, ...more }, signal);
      const run = async (command: readonly string[], more: Partial<PodCommand> = {}) => {
        const { output, errors, exited } = await exec(command, more);
        const [out, err, code] = await Promise.all([text(output), text(errors), exited]);
        return { out, err, code };
      };
      return { exec, run };
    };

    it('has output, errors, exit code and words as they are', async () => {
      const { run } = await prepare();
      expect(await run(script('echo out; echo err >&2; exit 3'))).toEqual({ out: 'out\n', err: 'err\n', code: 3 });
      const odd = ['a b', '$(id)', "it's", '', '*', '-e', '"'];
      for (const more of [{}, { terminal }])
        expect(await run(['printf', '%s|', ...odd], more)).toMatchObject({ out: odd.map((one) => `${one}|`).join(''), code: 0 });
      await expect(run(['no-such-program'])).rejects.toMatchObject({
        code: 'component.not_ready',
        message: expect.stringContaining('executable file not found'),
      });
      expect(await run(script('kill -TERM $$'))).toMatchObject({ code: 143 });
    });

    it('gets its input, and hears that it ends', async () => {
      const { exec } = await prepare();
      const { input, output, exited } = await exec(['cat']);
      input.write('one\n');
      expect(await readUntil(output, 'one')).toBe('one\n');
      input.end('two\n');
      expect([await text(output), await exited]).toEqual(['two\n', 0]);
    });

    it('has a terminal of the right size, which changes, and from which it can be interrupted', async () => {
      const { exec } = await prepare();
      const session = await exec(script('stty size; trap "stty size" WINCH; echo ready; while :; do sleep 0.1; done'), {
        terminal,
      });
      await readUntil(session.output, 'ready');
      session.resize(132, 43);
      expect(await readUntil(session.output, '43 132')).toContain('43 132');
      session.input.write('\u0003');
      expect(await session.exited).toBe(130);
    });

    it('waits while nobody reads its output, and loses nothing', async () => {
      const { exec, run } = await prepare();
      const bytes = 20_000_000;
      const { output, exited } = await exec(script(`yes | head -c ${bytes}`));
      await once(output, 'readable');
      await run(['true']);
      expect(output.readableLength).toBeLessThan(1_000_000);
      let length = 0;
      for await (const chunk of output) length += (chunk as Buffer).length;
      expect([length, await exited]).toEqual([bytes, 0]);
    });

    it.each([['without', {}] as const, ['with', { terminal }] as const])(
      'goes on when the connection ends, %s a terminal: whoever wants it to end has to end it',
      async (_how, more) => {
        const { exec, run } = await prepare();
        const abort = new AbortController();
        const session = await exec(script('echo started; exec sleep 4242'), more, abort.signal);
        await readUntil(session.output, 'started');
        abort.abort();
        await expect(session.exited).rejects.toThrow('abort');
        const { out } = await run(['ps', '-o', 'args']);
        expect(out).toContain('sleep 4242');
      },
    );
  });

  describe('a log', () => {
    it('has lines with their times, and goes on', async () => {
      const { cluster, pod } = await start('echo one; echo two; sleep 5; echo three; sleep 1000');
      const abort = abortAtEnd();
      const lines: LogLine[] = [];
      for await (const line of cluster.pods.log(pod, 'web', { follow: true, tail: 10 }, abort.signal)) {
        lines.push(line);
        if (line.text === 'three') break;
      }
      expect(lines.map(({ text }) => text)).toEqual(['one', 'two', 'three']);
      const stamps = lines.map(({ stamp }) => stamp);
      expect(new Set(stamps).size).toBe(3);
      expect(stamps).toEqual(stamps.toSorted());
      expect(lines.map(({ at }) => Date.parse(at ?? '') / 1_000)).toEqual(
        stamps.map((one) => Math.floor(Number(one) * 1_000) / 1_000),
      );
    });

    it('is empty where there was no container before', async () => {
      const { cluster, pod } = await start();
      expect(await Array.fromAsync(cluster.pods.log(pod, 'web', { previous: true }, never))).toEqual([]);
    });
  });

  describe('a port', () => {
    it('carries bytes both ways', async () => {
      const { cluster, pod } = await start();
      const connection = await cluster.pods.connect(pod, 8080, abortAtEnd().signal);
      connection.write('GET / HTTP/1.0\r\n\r\n');
      expect(await text(connection)).toMatch(/200 OK[^]*apples\n$/);
    });

    it('on which nobody listens is an error', async () => {
      const { cluster, pod } = await start();
      const connection = await cluster.pods.connect(pod, 81, abortAtEnd().signal);
      connection.write('hello');
      await expect(text(connection)).rejects.toMatchObject({
        code: 'component.not_ready',
        message: expect.stringContaining('port 81'),
      });
    });
  });
});
