import { identity, never, ProcessHarness, run } from './process-harness.fake.ts';

/** Changes one environment as fast as it can, until it is killed. */
const [, , folder = '', first = '1'] = process.argv;
const harness = new ProcessHarness({ folder });
process.stdout.write('begun\n');
for (let version = Number(first); ; version += 1) {
  const wanted = harness.component('web', version, { command: run('answer.mjs') });
  await harness.provider.ensure(identity, wanted, never);
  if (version % 3 === 0) await harness.untilReady(wanted);
  if (version % 3 === 1) await harness.provider.ensure(identity, wanted, never);
  if (version % 5 === 0) await harness.provider.remove(identity, wanted.name, never);
}
