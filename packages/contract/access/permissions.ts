export const roles = ['viewer', 'developer', 'operator', 'admin'] as const;
export type Role = (typeof roles)[number];

export const scopes = ['read', 'write', 'admin', 'wake'] as const;
export type Scope = (typeof scopes)[number];

interface Requirement {
  /** Null where everybody who is signed in may. */
  readonly role: Role | null;
  readonly scope: Scope;
}

/** What each thing that one may do takes. */
export const permissions = {
  'account.read': { role: null, scope: 'read' },
  'hooks.wake': { role: null, scope: 'wake' },
  'environments.read': { role: 'viewer', scope: 'read' },
  'server.read': { role: 'viewer', scope: 'read' },
  'logs.read': { role: 'developer', scope: 'read' },
  'values.read': { role: 'developer', scope: 'read' },
  'environments.change': { role: 'developer', scope: 'write' },
  'environments.exec': { role: 'developer', scope: 'write' },
  'held.read': { role: 'operator', scope: 'read' },
  'environments.operate': { role: 'operator', scope: 'write' },
  'tokens.manage': { role: 'admin', scope: 'admin' },
  'audit.read': { role: 'admin', scope: 'admin' },
  'rules.read': { role: 'admin', scope: 'admin' },
} as const satisfies Record<string, Requirement>;

export type Permission = keyof typeof permissions;
