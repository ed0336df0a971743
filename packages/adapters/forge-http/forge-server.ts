import type { ListedRepository, Reading } from '@eph/contract';
import type { Reporter } from '@eph/engine/report/reporter';
import type { Forge } from '@eph/engine/source/forge';
import type { GitForgeOptions } from '../forge-git/git-forge.ts';
import type { GateOptions } from './gate.ts';
import type { CommentOptions } from './report-queue.ts';
import type { SharedChanges } from './shared-changes.ts';

/** One configured forge. Its repositories share credentials, rate limits and caches. */
export interface ForgeServer {
  connect(repository: ConnectOptions): { readonly forge: Forge & AsyncDisposable; readonly reporter: Reporter };
  /** The repositories of an organisation, user or group that Eph can see. */
  readRepositories(owner: string, signal: AbortSignal): Promise<Reading<ListedRepository>>;
  /** Absent where conditional requests for unchanged data are free. */
  createSharedChanges?(owner: string): SharedChanges;
  /** The rate limits, as far as the forge has reported them. */
  budgets(): readonly { readonly account: string; readonly remaining: number }[];
}

export type ForgeServerOptions = Pick<GateOptions, 'now' | 'random' | 'log'>;

export interface ConnectOptions extends Pick<GitForgeOptions, 'project' | 'folder' | 'environment'>, CommentOptions {
  /** `owner/repository`. */
  readonly location: string;
  /** With it, an unchanged pass is one request for all repositories of the owner. */
  readonly shared?: SharedChanges | undefined;
}

export const splitLocation = (location: string): { readonly owner: string; readonly repository: string } => {
  const at = location.lastIndexOf('/');
  return { owner: location.slice(0, at), repository: location.slice(at + 1) };
};
