import type { CommitSha, Identity, Log, ProjectId, ProviderName } from '@eph/contract';
import type { Provider } from '@eph/engine/provider/provider';
import type { KubeObserver } from '@eph/kube/observer';
import type { z } from 'zod';

/** What ephd gives to a provider besides its settings. */
export interface ProviderContext {
  readonly name: ProviderName;
  /** A data folder of its own. */
  readonly folder: string;
  /** It is no longer in the file, and runs only for what it still holds. */
  readonly isRetired: boolean;
  /** The environment variables of ephd. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Writes the tree of a commit to a folder that does not exist yet. */
  readonly exportTree: (project: ProjectId, commit: CommitSha, folder: string, signal: AbortSignal) => Promise<void>;
  readonly secretOf: (project: ProjectId, name: string) => string | undefined;
  /** Where an environment is reached now; asked at each start of a service. */
  readonly urlOf: (identity: Identity) => string;
  readonly observer: KubeObserver;
  readonly log: Log;
}

/** A provider as the file describes it. */
export interface ProviderSettings {
  readonly type: string;
  /** What is the same here belongs to one infrastructure, and two providers must not share that. */
  readonly place?: string;
  readonly create: (context: ProviderContext) => Provider & AsyncDisposable;
}

export interface ProviderType {
  /** Its settings in the file of ephd, checked. */
  readonly schema: z.ZodType<ProviderSettings> & z.core.$ZodTypeDiscriminable;
  /** With which settings a provider that is no longer in the file still runs; undefined where it holds no environments. */
  readonly readRetired: (folder: string) => RetiredSettings | undefined;
}

/** As the file would give them. */
export type RetiredSettings = { readonly type: string } & { readonly [key: string]: unknown };
