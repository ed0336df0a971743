import { closest, type Permission, permissions } from '@eph/contract';
import { CommandFailure } from './command-failure.ts';
import { exitCodes } from './exit-codes.ts';

/** What each command needs. */
const ofCommands = {
  list: 'environments.read',
  status: 'environments.read',
  events: 'environments.read',
  why: 'environments.read',
  plan: 'environments.read',
  open: 'environments.read',
  projects: 'environments.read',
  sources: 'environments.read',
  providers: 'server.read',
  logs: 'logs.read',
  config: 'values.read',
  up: 'environments.change',
  down: 'environments.change',
  pin: 'environments.change',
  extend: 'environments.change',
  pause: 'environments.change',
  redeploy: 'environments.change',
  exec: 'environments.exec',
  'port-forward': 'environments.connect',
  held: 'held.read',
  release: 'environments.operate',
  scale: 'environments.operate',
  tokens: 'tokens.manage',
  audit: 'audit.read',
  dashboard: 'account.read',
} as const satisfies Record<string, Permission>;

/** Of a command such as `down`, or a permission such as `logs.read`. */
export const findPermission = (action: string): Permission => {
  if (Object.hasOwn(ofCommands, action)) return ofCommands[action as keyof typeof ofCommands];
  if (Object.hasOwn(permissions, action)) return action as Permission;
  const near = closest(action, [...Object.keys(ofCommands), ...Object.keys(permissions)]);
  const advice =
    near === undefined
      ? `Name a command such as down, or one of ${Object.keys(permissions).join(', ')}.`
      : `Did you mean ${near}?`;
  throw new CommandFailure('cli.usage', `${JSON.stringify(action)} is no action. ${advice}`, { exitCode: exitCodes.usage });
};
