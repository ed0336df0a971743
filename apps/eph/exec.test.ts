import { decodeFrame, type ExecFrame, encodeFrame } from '@eph/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeEphd, fakeEnvironment, startFakeEphd } from './ephd.fake.ts';
import { exitCodes } from './exit-codes.ts';
import { eph, type Result, type SessionOptions } from './terminal.fake.ts';

let ephd: FakeEphd;
/** As ephd got them. */
let received: ExecFrame[];
let asked: string | undefined;

beforeEach(async () => {
  ephd = await startFakeEphd();
  ephd.environments = [fakeEnvironment()];
  received = [];
});
afterEach(async () => ephd.close());

/** Answers the end of the input with these frames. */
const answerWith = (...frames: readonly ExecFrame[]): void => {
  ephd.exec = (socket, query) => {
    asked = query.toString();
    socket.on('message', (data: Buffer) => {
      const frame = decodeFrame(data);
      if (frame !== undefined) received.push(frame);
      if (frame?.type !== 'input') return;
      if (frame.bytes.length > 0) return socket.send(encodeFrame({ type: 'taken', length: frame.bytes.length }));
      for (const one of frames) socket.send(encodeFrame(one));
      socket.close();
    });
  };
};

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const output = (text: string): ExecFrame => ({ type: 'output', bytes: bytesOf(text) });
const exit = (code: number): ExecFrame => ({ type: 'exit', code });

const exec = (args: readonly string[], options: SessionOptions = {}): Promise<Result> =>
  eph(['--server', ephd.address, 'exec', ...args], options);

describe('exec', () => {
  it('passes input, output, errors and the exit code on', async () => {
    answerWith(output('out\n'), { type: 'errors', bytes: bytesOf('err\n') }, exit(77));
    const result = await exec(['-c', 'db', 'shop', '--', 'psql', '--json', '-c', 'a b'], { stdin: 'hello' });
    expect(result).toEqual({ code: 77, out: 'out\n', err: 'err\n' });
    expect(asked).toBe('component=db&command=psql&command=--json&command=-c&command=a+b');
    expect(received.filter(({ type }) => type === 'input')).toEqual([
      { type: 'input', bytes: Buffer.from('hello') },
      { type: 'input', bytes: Buffer.alloc(0) },
    ]);
  });

  it('starts a shell without a command, and a terminal if one is asked for', async () => {
    answerWith(exit(0));
    await exec(['shop']);
    expect(asked).toBe('command=sh');
    await exec(['--tty', 'shop'], { isTTY: true, columns: 132, rows: 43, variables: { TERM: 'screen' } });
    expect(asked).toBe('command=sh&terminal=screen&columns=132&rows=43');
  });

  it('lets a terminal obey output only if one was asked for', async () => {
    answerWith(output('\x1b[2Jc\x07\tw\xfcrgt\n'), exit(0));
    expect((await exec(['shop'])).out).toBe('\x1b[2Jc\x07\twürgt\n');
    expect((await exec(['shop'], { isTTY: true })).out).toBe('\\x1b[2Jc\\x07\twürgt\n');
    expect((await exec(['-T', 'shop'], { isTTY: true })).out).toBe('\\x1b[2Jc\\x07\twürgt\n');
    expect((await exec(['-t', 'shop'], { isTTY: true })).out).toBe('\x1b[2Jc\x07\twürgt\n');
  });

  it('says why it was refused, did not start, or was ended', async () => {
    const refused = { code: exitCodes.signIn, out: '', err: 'eph: you may not use environments.exec\n' };
    expect(await exec(['shop', '--', 'curl', '--json'])).toEqual(refused);
    answerWith(output('half'), { type: 'failure', code: 'api.unauthorized', message: 'the token was revoked\x07' });
    expect(await exec(['shop'])).toMatchObject({
      code: exitCodes.signIn,
      out: 'half',
      err: expect.stringContaining('was revoked\\x07'),
    });
    answerWith(output('half'), { type: 'failure', code: 'api.stopping', message: 'ephd is stopping' });
    expect(await exec(['shop'])).toEqual({ code: exitCodes.unreachable, out: 'half', err: 'eph: ephd is stopping\n' });
    answerWith(output('half'));
    const lost = { code: exitCodes.unreachable, out: 'half', err: expect.stringContaining('was lost') };
    expect(await exec(['shop'])).toEqual(lost);
    ephd.exec = (socket) => socket.send('not a frame');
    expect(await exec(['shop'])).toMatchObject({ code: exitCodes.unreachable, err: expect.stringContaining('not a frame') });
    expect(await exec(['absent', '--', 'true'])).toMatchObject({ code: exitCodes.notFound });
  });

  it('explains itself', async () => {
    const { code, out } = await exec(['--help']);
    expect([code, out]).toEqual([exitCodes.ok, expect.stringContaining('eph exec shop -- ls -l')]);
    expect((await exec(['shop', 'ls', '-l'])).code).toBe(exitCodes.usage);
  });
});
