/** Whether a provider keeps what it runs apart from itself; `because` says why it does not, and what to do about it. */
export type Isolation = Sandboxed | { readonly state: 'trusted'; readonly because: string };

export interface Sandboxed {
  readonly state: 'sandboxed';
  /** Whether everything gets a network of its own, or only what asks for it. */
  readonly network: 'own' | 'shared';
  /** What it cannot do here and needs for pull requests from forks: why, and what to do about it. */
  readonly lacks: { readonly network?: string; readonly limits?: string };
}
