/** What somebody may do in a project. Each role includes those before it. */
export const roles = ['viewer', 'developer', 'operator', 'admin'] as const;
export type Role = (typeof roles)[number];

/** What a token can be used for. `wake` is for hooks of Git servers: it can start a pass, and read nothing. */
export const scopes = ['wake', 'read', 'write', 'admin'] as const;
export type Scope = (typeof scopes)[number];

interface Requirement {
  /** Null for what everybody may do who is signed in, unless a rule denies it. */
  readonly role: Role | null;
  readonly scope: Scope;
}

export const permissions = {
  /** The own status, and the version of ephd. */
  'account.read': { role: null, scope: 'read' },
  'hooks.wake': { role: 'viewer', scope: 'wake' },
  /** Lists, status, events, why, plan, sources and the stream. */
  'environments.read': { role: 'viewer', scope: 'read' },
  /** Capabilities, where the role in any project is enough, and metrics, which take it in every project. */
  'server.read': { role: 'viewer', scope: 'read' },
  'logs.read': { role: 'developer', scope: 'read' },
  'values.read': { role: 'developer', scope: 'read' },
  /** Up, down, pin, extend, pause and redeploy. */
  'environments.change': { role: 'developer', scope: 'write' },
  'environments.exec': { role: 'developer', scope: 'write' },
  /** Connections to ports of components. */
  'environments.connect': { role: 'developer', scope: 'write' },
  'held.read': { role: 'operator', scope: 'read' },
  /** Release and scale. */
  'environments.operate': { role: 'operator', scope: 'write' },
  'tokens.manage': { role: 'admin', scope: 'admin' },
  'audit.read': { role: 'admin', scope: 'admin' },
  'rules.read': { role: 'admin', scope: 'admin' },
} as const satisfies Record<string, Requirement>;

export type Permission = keyof typeof permissions;

export const roleIncludes = (held: Role, needed: Role): boolean => roles.indexOf(held) >= roles.indexOf(needed);

const included: { readonly [scope in Scope]: readonly Scope[] } = {
  wake: ['wake'],
  read: ['read'],
  write: ['wake', 'read', 'write'],
  admin: scopes,
};

export const scopeIncludes = (held: Scope, needed: Scope): boolean => included[held].includes(needed);
