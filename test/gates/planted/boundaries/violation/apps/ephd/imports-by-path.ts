export { reconcile } from '../../packages/engine/loop/reconcile.ts';
