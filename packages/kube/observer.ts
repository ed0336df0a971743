/** What a client reports of itself: metrics are made from these, in one place. */
export interface KubeObserver {
  /** A request has its answer, or `failed` for none. A watch is answered when it begins. */
  requested(request: ObservedRequest): void;
  /** A watch of a kind lists everything again, or connects again, and why. */
  restarted(watch: { readonly cluster: string; readonly kind: string; readonly why: RestartReason }): void;
}

export interface ObservedRequest {
  readonly cluster: string;
  readonly verb: Verb;
  readonly kind: string;
  readonly status: number | 'failed';
  readonly milliseconds: number;
  /** Of the body, as far as it was read when the request was answered. */
  readonly bytes: number;
}

export type Verb = 'get' | 'list' | 'watch' | 'create' | 'apply' | 'patch' | 'update' | 'delete' | 'read';

/** `ended`: the server ended the watch as it was asked to. */
export type RestartReason = 'ended' | 'expired' | 'silent' | 'disordered' | 'failed';

export const noObserver: KubeObserver = { requested: () => undefined, restarted: () => undefined };
