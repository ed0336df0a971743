/** Where webhooks are sent: of a repository or an App. */
export interface Hook {
  readonly id: number;
  readonly target: { readonly type: 'repository' | 'integration'; readonly id: number };
  readonly url: string;
  readonly secret: string | undefined;
  /** Names of events; `*` stands for all. */
  readonly events: readonly string[];
}
