/** Where webhooks are sent: of a repository, an organisation or an App. */
export interface Hook {
  readonly id: number;
  readonly target: { readonly type: 'repository' | 'organization' | 'integration'; readonly id: number };
  readonly url: string;
  readonly secret: string | undefined;
  /** Names of events; `*` stands for all. */
  readonly events: readonly string[];
  active: boolean;
  readonly createdAt: number;
}
