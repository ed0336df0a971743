import { identity, never, ProcessWorld, run } from './process-world.fake.ts';

/** Changes one environment as fast as it can, until it is killed. */
const [, , folder = '', first = '1'] = process.argv;
const world = new ProcessWorld({ folder });
process.stdout.write('begun\n');
for (let version = Number(first); ; version += 1) {
  const wanted = world.component('web', version, { command: run('answer.mjs') });
  await world.provider.ensure(identity, wanted, never);
  if (version % 3 === 0) await world.untilReady(wanted);
  if (version % 3 === 1) await world.provider.ensure(identity, wanted, never);
  if (version % 5 === 0) await world.provider.remove(identity, wanted.name, never);
}
