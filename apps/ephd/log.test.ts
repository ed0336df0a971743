import { registerSecret } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { createAuditLog, createLog } from './log.ts';

const secret = 'lines of "a"\nsecret for the log';
registerSecret(secret);

/** What is printed, parsed again. */
const printed = (log: (to: ReturnType<typeof createLog>) => void): Record<string, unknown> => {
  const lines: string[] = [];
  log(createLog('info', { write: (line) => void lines.push(line) }));
  expect(lines).toHaveLength(1);
  for (const part of ['lines of', 'for the log']) expect(lines[0]).not.toContain(part);
  return JSON.parse(lines[0] ?? '') as Record<string, unknown>;
};

describe('a line of the log', () => {
  it('loses secrets in its message and in its fields, and nothing else', () => {
    expect(
      printed((log) =>
        log.warn({ url: 'https://git.example.com', values: [{ of: secret }], by: 'ann@example.com' }, `seen: ${secret}`),
      ),
    ).toMatchObject({ msg: 'seen: ***', url: 'https://git.example.com', values: [{ of: '***' }], by: 'ann@example.com' });
  });

  it('loses the secrets of an error, its cause and its stack', () => {
    const error = new Error(`outer ${secret}`, { cause: new Error(`inner ${secret}`) });
    expect(printed((log) => log.error({ err: error }, 'it failed'))).toMatchObject({
      msg: 'it failed',
      err: { type: 'Error', message: expect.stringMatching(/^outer \*\*\*/), stack: expect.stringContaining('log.test') },
    });
    expect(printed((log) => log.error(error))).toMatchObject({ msg: 'outer ***', err: { type: 'Error' } });
  });

  it('of the audit log is printed at every level but silent, without secrets', () => {
    const lines: string[] = [];
    for (const level of ['info', 'error', 'silent']) {
      const log = createLog(level, { write: (line) => void lines.push(line) });
      createAuditLog(log).info({ by: secret }, level);
      log.info({}, `not at ${level}`);
    }
    const printed = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(printed.map(({ msg, by }) => [msg, by])).toEqual([
      ['info', '***'],
      ['not at info', undefined],
      ['error', '***'],
    ]);
  });

  it('may be a message alone', () => {
    expect(printed((log) => log.info(`seen: ${secret}`))).toMatchObject({ msg: 'seen: ***' });
  });
});
