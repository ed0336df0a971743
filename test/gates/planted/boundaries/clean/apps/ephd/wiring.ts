import { gitForge } from '@eph/adapters/forge-git/git-forge';
import { store } from '@eph/adapters/store-sql/store';
import { reconcile } from '@eph/engine/loop/reconcile';
import { route } from '@eph/gateway';
import { openCluster } from '@eph/kube/cluster';
import { processProvider } from '@eph/providers/process/process-provider';

export const run = (): string => route(reconcile(gitForge(), processProvider)) + store + openCluster({ now: () => 0 });
