import { text } from 'node:stream/consumers';
import { tokenPrefix } from '@eph/contract';
import { accountFacts, renderFacts } from '../account-view.ts';
import { createApiClient } from '../client.ts';
import { CommandFailure } from '../command-failure.ts';
import { chooseServer, connectWith, type ServerOptions } from '../connection/connection.ts';
import { checkProfileName, type Profiles } from '../connection/profiles.ts';
import { SignIns } from '../connection/sign-ins.ts';
import type { Context, LocalContext } from '../context.ts';
import { exitCodes } from '../exit-codes.ts';
import { safeLine } from '../safe-text.ts';
import { printServer, requireSafeTransport } from '../server-address.ts';

/** Not a whole `Context`: the profile that the command line names may not exist yet. */
export interface LoginContext extends LocalContext, Pick<Context, 'stdin' | 'variables'> {
  readonly named: ServerOptions;
}

export const login = async (context: LoginContext, { withToken = false }: { readonly withToken?: boolean }): Promise<void> => {
  const { out, err, print, variables } = context;
  const signIns = new SignIns(variables);
  const { server, profile } = chooseTarget(context, await signIns.profiles());
  requireSafeTransport(server);
  const token = withToken ? await readToken(context) : await askForToken(context, server);
  const client = createApiClient(connectWith(server, token));
  const account = await client.readAccount();
  const { place, because } = await signIns.store(profile, server, token);
  const name = printServer(server);
  await print({ profile, server: name, tokenIn: place, account }, () => [
    safeLine(`You are signed in to ${name}.`),
    '',
    ...renderFacts(out, [['profile', profile], ['token in', place], ...accountFacts(account)]),
  ]);
  if (because !== undefined) await err.lines([safeLine(`The token is in a file that only you can read. ${because}`)]);
  if (variables['EPH_TOKEN'])
    await err.lines(['EPH_TOKEN is set: eph uses it instead of this token, and only for a server that you name.']);
};

const chooseTarget = ({ named, variables }: LoginContext, profiles: Profiles): { server: URL; profile: string } => {
  const { profile: name } = named;
  if (name === undefined) {
    const { server, profile } = chooseServer(named, variables, profiles);
    return { server, profile: profile ?? checkProfileName(server.host.replaceAll(/[[\]]/g, '')) };
  }
  const address = named.server ?? profiles.all.get(name)?.server ?? (variables['EPH_SERVER'] || undefined);
  if (address === undefined)
    throw new CommandFailure('cli.usage', `There is no profile ${JSON.stringify(name)} yet. Name its server with --server.`, {
      exitCode: exitCodes.usage,
    });
  return { server: chooseServer({ server: address }, variables, profiles).server, profile: checkProfileName(name) };
};

const readToken = async ({ stdin }: LoginContext): Promise<string> => checkToken((await text(stdin())).trim());

const askForToken = async ({ openPrompter }: LoginContext, server: URL): Promise<string> => {
  const prompter = await openPrompter();
  if (prompter === undefined)
    throw new CommandFailure(
      'cli.usage',
      'There is no terminal to ask for the token. Pass it on standard input: `eph auth login --with-token < file`.',
      { exitCode: exitCodes.usage },
    );
  return checkToken((await prompter.secret(`Token for ${printServer(server)}`)).trim());
};

/** Before anything is sent: what was pasted by mistake may be another secret. */
const checkToken = (token: string): string => {
  if (token.startsWith(tokenPrefix) && /^[\w.-]+$/.test(token)) return token;
  throw new CommandFailure('cli.usage', `That is not a token of Eph, which begins with ${tokenPrefix}.`, {
    exitCode: exitCodes.usage,
  });
};
