import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type ComponentName, componentName, type EnvironmentId, type ErrorCode, environmentId } from '@eph/contract';
import { expect, it, onTestFinished } from 'vitest';
import type { ExecRequest, ExecSession, Provider } from './provider.ts';

/** A component that runs. */
export interface Runs {
  readonly provider: Pick<Provider, 'exec'>;
  readonly environment: EnvironmentId;
  readonly component: ComponentName;
  remove(): Promise<void>;
}

const never = new AbortController().signal;
const terminal = { columns: 80, rows: 24, type: 'xterm-256color' };

const script = (source: string): readonly string[] => ['sh', '-c', source];

const exec = async (
  { provider, environment, component }: Runs,
  command: readonly string[],
  more: Partial<ExecRequest> = {},
): Promise<ExecSession> => {
  const abort = new AbortController();
  onTestFinished(() => abort.abort());
  return await provider.exec(environment, component, { command, signal: abort.signal, ...more });
};

const run = async (runs: Runs, command: readonly string[], more: Partial<ExecRequest> = {}) => {
  const { output, errors, exited } = await exec(runs, command, more);
  const [out, err, code] = await Promise.all([text(output), text(errors), exited]);
  return { out, err, code };
};

/** Everything read so far, once it holds what is expected. */
const readUntil = async (stream: Readable, expected: string | RegExp): Promise<string> => {
  let seen = '';
  while (!(typeof expected === 'string' ? seen.includes(expected) : expected.test(seen))) {
    const chunk = stream.read() as Buffer | null;
    if (chunk !== null) seen += chunk.toString();
    else if (stream.readableEnded) throw new Error(`it ended after: ${seen}`);
    else await Promise.race([once(stream, 'readable'), once(stream, 'end')]);
  }
  return seen;
};

/** How many processes with this word on their command line the component can see. */
const countProcesses = async (runs: Runs, word: string): Promise<number> => {
  const { out } = await run(runs, script(`for one in /proc/[0-9]*; do tr '\\0' ' ' < $one/cmdline; echo; done 2>/dev/null`));
  return out.split('\n').filter((line) => line.startsWith(`sleep ${word}`)).length;
};

let words = 0;
/** For `sleep`: no other test uses it. */
const uniqueWord = (): string => `${process.pid}${String((words += 1)).padStart(3, '0')}`;

/** Where a provider does not run commands beside components. */
export const describeRefusedExec = (code: ErrorCode, start: () => Promise<Runs>): void => {
  it(`is refused with ${code}`, async () => {
    const { provider, environment, component } = await start();
    const exec = provider.exec(environment, component, { command: ['true'], signal: never });
    await expect(exec).rejects.toMatchObject({ code });
  });
};

/** Commands that people run beside a component. */
export const describeExec = (start: () => Promise<Runs>): void => {
  it('runs a command, with output, errors and exit code apart', async () => {
    const runs = await start();
    expect(await run(runs, script('echo out; echo err >&2; exit 3'))).toEqual({ out: 'out\n', err: 'err\n', code: 3 });
    expect(await run(runs, ['true'])).toEqual({ out: '', err: '', code: 0 });
  });

  it('shows as a shell that a signal ended the command, and that there is no such program', async () => {
    const runs = await start();
    expect(await run(runs, script('kill -TERM $$'))).toMatchObject({ code: 143 });
    expect(await run(runs, ['no-such-program'])).toMatchObject({ code: 127, err: expect.stringContaining('no-such-program') });
    expect(await run(runs, script('kill -TERM $$'), { terminal })).toMatchObject({ code: 143 });
  });

  it.each([['without a terminal', {}] as const, ['with a terminal', { terminal }] as const])(
    'passes words as they are, %s',
    async (_how, more) => {
      const runs = await start();
      const odd = ['a b', '$(id)', "it's", '', '*', '-e', '`id`', '"'];
      expect(await run(runs, ['printf', '%s|', ...odd], more)).toEqual({
        out: odd.map((one) => `${one}|`).join(''),
        err: '',
        code: 0,
      });
    },
  );

  it('gives the command its input until that is closed', async () => {
    const { input, output, exited } = await exec(await start(), ['cat']);
    input.write('one\n');
    expect(await readUntil(output, 'one')).toBe('one\n');
    input.end('two\n');
    expect(await text(output)).toBe('two\n');
    expect(await exited).toBe(0);
  });

  it('has a terminal only if one is asked for', async () => {
    const runs = await start();
    const ask = script('for one in 0 1 2; do if [ -t $one ]; then echo yes; else echo no; fi; done; echo "$TERM"');
    expect((await run(runs, ask)).out).not.toContain('yes');
    const asked = await run(runs, ask, { terminal });
    expect(asked).toEqual({ out: 'yes\r\nyes\r\nyes\r\nxterm-256color\r\n', err: '', code: 0 });
  });

  it('has a terminal of the right size, which changes', async () => {
    const watching = script('stty size; trap "stty size" WINCH; echo ready; while :; do sleep 0.02; done');
    const session = await exec(await start(), watching, { terminal });
    expect(await readUntil(session.output, 'ready')).toContain('24 80');
    session.resize(100, 30);
    session.resize(132, 43);
    expect(await readUntil(session.output, '43 132')).toContain('43 132');
  });

  it('has a terminal that echoes, and from which the command can be interrupted', async () => {
    const { input, output, exited } = await exec(await start(), ['cat'], { terminal });
    input.write('hello\n');
    expect(await readUntil(output, /hello[^]*hello/)).toBe('hello\r\nhello\r\n');
    input.write('\u0003');
    expect(await exited).toBe(130);
  });

  it.each(['without', 'with'])('ends the command and all that it started when it is aborted, %s a terminal', async (how) => {
    const runs = await start();
    const [abort, word] = [new AbortController(), uniqueWord()];
    const hiding = `trap "" TERM HUP INT; sleep ${word} & setsid sleep ${word} & (setsid sleep ${word} &); echo started; sleep ${word}`;
    const session = await exec(runs, script(hiding), { signal: abort.signal, ...(how === 'with' && { terminal }) });
    await readUntil(session.output, 'started');
    await expect.poll(() => countProcesses(runs, word)).toBe(4);
    abort.abort();
    expect(await session.exited).toBe(137);
    expect(await countProcesses(runs, word)).toBe(0);
    await expect(exec(runs, ['true'], { signal: abort.signal })).rejects.toThrow('abort');
  });

  it.each(['without', 'with'])('leaves nothing in the background when the command exits, %s a terminal', async (how) => {
    const runs = await start();
    const word = uniqueWord();
    const command = script(`trap "" HUP; setsid sleep ${word} & sleep ${word} & echo exits; exit 5`);
    const result = await run(runs, command, how === 'with' ? { terminal } : {});
    expect(result).toMatchObject({ code: 5, out: expect.stringContaining('exits') });
    expect(await countProcesses(runs, word)).toBe(0);
  });

  it('ends when the component is removed', async () => {
    const runs = await start();
    const session = await exec(runs, script('trap "" TERM HUP; echo started; while :; do sleep 1; done'));
    await readUntil(session.output, 'started');
    await runs.remove();
    expect(await session.exited).toBe(137);
  });

  it('lets a command wait whose output nobody reads, and loses nothing', async () => {
    const runs = await start();
    const bytes = 20_000_000;
    const { output, exited } = await exec(runs, script(`yes | head -c ${bytes}`));
    await once(output, 'readable');
    // Meanwhile others go on.
    await run(runs, ['true']);
    expect(output.readableLength).toBeLessThan(1_000_000);
    let length = 0;
    for await (const chunk of output) length += (chunk as Buffer).length;
    expect([length, await exited]).toEqual([bytes, 0]);
  });

  it('lets whoever writes wait while the command reads nothing', async () => {
    const { input } = await exec(await start(), ['sleep', '1000']);
    let bytes = 0;
    const chunk = Buffer.alloc(65_536);
    while (bytes < 50_000_000 && input.write(chunk)) bytes += chunk.length;
    expect(bytes).toBeLessThan(50_000_000);
  });

  it('keeps the output of a command that has exited', async () => {
    const { output, errors, exited } = await exec(await start(), script('echo out; echo err >&2'));
    expect(await exited).toBe(0);
    expect([await text(output), await text(errors)]).toEqual(['out\n', 'err\n']);
  });

  it('runs several at once, which know nothing of each other', async () => {
    const runs = await start();
    const abort = new AbortController();
    const ended = await exec(runs, ['cat'], { signal: abort.signal });
    const other = await exec(runs, ['cat']);
    abort.abort();
    await ended.exited;
    other.input.end('goes on');
    expect(await text(other.output)).toBe('goes on');
  });

  it('is refused where there is nothing to run it beside, and nothing to run', async () => {
    const { provider, environment, component } = await start();
    const request = { command: ['true'], signal: never };
    const unknown = { code: 'api.not_found' };
    await expect(provider.exec(environment, componentName('other'), request)).rejects.toMatchObject(unknown);
    await expect(provider.exec(environmentId('00000000000000dd'), component, request)).rejects.toMatchObject(unknown);
    await expect(provider.exec(environment, component, { ...request, command: [] })).rejects.toMatchObject({
      code: 'api.bad_request',
    });
  });
};
