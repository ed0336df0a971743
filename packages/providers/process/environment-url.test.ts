import { expect, it } from 'vitest';
import { identity, never, ProcessHarness, run, until } from './process-harness.fake.ts';

it('a service that is started again sees where its environment is reached by then', async () => {
  let port = 1000;
  await using world = new ProcessHarness({ urlOf: ({ name }) => `http://${name}.localhost:${port}` });
  const wanted = world.component('web', 1, { command: run('answer.mjs'), secretEnv: { EPH_URL: [{ url: true }, '/x'] } });
  await world.provider.ensure(identity, wanted, never);
  const { outputs } = await world.untilReady(wanted);
  const urlOf = async (): Promise<unknown> => ((await (await fetch(outputs['url'] ?? '')).json()) as { EPH_URL: string }).EPH_URL;
  expect(await urlOf()).toBe(`http://${identity.name}.localhost:1000/x`);
  port = 2000;
  const [first] = await world.running();
  if (first === undefined) throw new Error('nothing runs');
  process.kill(first.session, 'SIGKILL');
  await until('another process runs', async () => (await world.running()).some(({ session }) => session !== first.session));
  await world.untilReady(wanted);
  expect(await urlOf()).toBe(`http://${identity.name}.localhost:2000/x`);
});
