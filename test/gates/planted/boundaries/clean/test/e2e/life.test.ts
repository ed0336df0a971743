import { gitForge } from '@eph/adapters/forge-git/git-forge';
import { reconcile } from '@eph/engine/loop/reconcile';
import { processProvider } from '@eph/providers/process/process-provider';
import { run } from '../../apps/ephd/wiring.ts';

await using stack = new AsyncDisposableStack();
stack.defer(async () => undefined);
reconcile(gitForge(), processProvider);
run();
