import { expect, it } from 'vitest';
import { createExchange } from './exchange.ts';
import { createTestGate, ManualClock, ScriptedForge } from './scripted-forge.fake.ts';

it('gives up on an answer that takes too long, and says who is silent', async () => {
  await using forge = await ScriptedForge.start();
  forge.script = () => ({ fault: 'hang' });
  const exchange = createExchange({ gate: createTestGate(new ManualClock()), timeoutMs: 300, bodyLimitBytes: 1_000 });
  const { signal } = new AbortController();
  await expect(exchange(new Request(forge.url), signal)).rejects.toMatchObject({
    code: 'forge.unreachable',
    message: expect.stringMatching(/^127\.0\.0\.1:\d+ did not answer within 0\.3 s\.$/),
  });
  forge.script = () => ({ body: 'fine' });
  expect(await exchange(new Request(forge.url), signal)).toMatchObject({ status: 200 });
});
