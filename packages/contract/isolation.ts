/** Whether a provider keeps what it runs apart from itself; `because` says why it does not, and what to do about it. */
export type Isolation = { readonly state: 'sandboxed' } | { readonly state: 'trusted'; readonly because: string };
