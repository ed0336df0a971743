import { createApiClient } from '../client.ts';
import { CommandFailure } from '../command-failure.ts';
import { connectWith, requireProfile } from '../connection/connection.ts';
import { SignIns } from '../connection/sign-ins.ts';
import type { Context } from '../context.ts';
import { safeLine } from '../safe-text.ts';
import { parseServer } from '../server-address.ts';
import { renderRevocation } from './tokens.ts';

/** Of the token that is stored, whatever `EPH_TOKEN` holds. */
export const logout = async (context: Context, { revoke = false }: { readonly revoke?: boolean }): Promise<void> => {
  const { connection, print, err } = context;
  const { profile: name } = connection;
  if (name === undefined)
    return print({ server: connection.name, profile: null, removed: false }, () => [
      safeLine(`No token is stored for ${connection.name}.`),
    ]);
  const signIns = new SignIns(context.variables);
  if (revoke) await err.lines(await revokeStored(signIns, name));
  await signIns.remove(name);
  await print({ server: connection.name, profile: name, removed: true }, () => [
    safeLine(`Profile ${name} and its token are removed from this machine.`),
  ]);
};

/** If ephd cannot be asked, the token stays here, so that it can be revoked later. */
const revokeStored = async (signIns: SignIns, name: string): Promise<readonly string[]> => {
  const profile = requireProfile(name, await signIns.profiles());
  const { token } = await signIns.readToken(name, profile);
  if (token === undefined) return ['There is no token to revoke.'];
  try {
    return renderRevocation(await createApiClient(connectWith(parseServer(profile.server), token)).endSession());
  } catch (error) {
    // It has ended already.
    if (error instanceof CommandFailure && error.code === 'api.unauthorized') return [safeLine(error.message)];
    throw error;
  }
};
