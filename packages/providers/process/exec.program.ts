import { once } from 'node:events';
import { identity, never, ProcessHarness, run } from './process-harness.fake.ts';

/** Runs a service, and beside it a command that tries to stay, until it is killed. */
const [, , folder = '', source = ''] = process.argv;
const harness = new ProcessHarness({ folder });
const wanted = harness.component('web', 1, { command: run('answer.mjs') });
await harness.provider.ensure(identity, wanted, never);
await harness.untilReady(wanted);
const { output } = await harness.provider.exec(identity.id, wanted.name, { command: ['sh', '-c', source], signal: never });
await once(output, 'data');
process.stdout.write('begun\n');
setInterval(() => undefined, 1_000_000);
