import { closest, isLoopback } from '@eph/contract';
import { readApiToken } from '../api-token.ts';
import { CommandFailure } from '../command-failure.ts';
import { exitCodes } from '../exit-codes.ts';
import { defaultServer, parseServer, printServer, requireSafeTransport, toReached } from '../server-address.ts';
import type { Profile, Profiles } from './profiles.ts';
import { originOf, SignIns } from './sign-ins.ts';

type Variables = Readonly<Record<string, string | undefined>>;

/** What the command line says about the server. */
export interface ServerOptions {
  readonly server?: string;
  readonly profile?: string;
}

export interface TokenReading {
  /** Undefined where there is none to send. */
  readonly token: string | undefined;
  /** Where it comes from, for people; undefined where there is none. */
  readonly from: string | undefined;
  /** What to print if ephd does not accept it. */
  readonly explain: (detail: string) => string;
}

/** Which ephd eph asks, and as whom. */
export interface Connection {
  /** Where requests go. */
  readonly server: URL;
  /** The same, as people write it. */
  readonly name: string;
  readonly profile: string | undefined;
  /** Called for every request, because every start of ephd writes another token. Throws where none may be sent. */
  readonly readToken: () => Promise<TokenReading>;
}

export interface ChosenServer {
  readonly server: URL;
  readonly profile: string | undefined;
  /** Somebody named it now. Otherwise it is the profile in use, or the default. */
  readonly named: boolean;
}

/** The command line wins over variables, and variables win over the current profile. */
export const chooseServer = (options: ServerOptions, variables: Variables, profiles: Profiles): ChosenServer => {
  const preferred = options.profile ?? (variables['EPH_PROFILE'] || undefined);
  const at = (address: string): ChosenServer => {
    const server = parseServer(address);
    return { server, profile: findProfileAt(server, preferred, profiles), named: true };
  };
  const of = (name: string): ChosenServer => ({
    server: parseServer(requireProfile(name, profiles).server),
    profile: name,
    named: true,
  });
  if (options.server !== undefined) {
    const chosen = at(options.server);
    if (options.profile !== undefined && chosen.profile !== options.profile)
      throw usage(
        `Profile ${options.profile} is for ${requireProfile(options.profile, profiles).server}, not for ${options.server}.`,
      );
    return chosen;
  }
  if (options.profile !== undefined) return of(options.profile);
  if (variables['EPH_SERVER']) return at(variables['EPH_SERVER']);
  if (variables['EPH_PROFILE']) return of(variables['EPH_PROFILE']);
  if (profiles.current !== undefined && profiles.all.has(profiles.current)) return { ...of(profiles.current), named: false };
  return { ...at(defaultServer), named: false };
};

const findProfileAt = (server: URL, preferred: string | undefined, { current, all }: Profiles): string | undefined => {
  const { origin } = toReached(server);
  const matching = [...all].filter(([, profile]) => originOf(profile) === origin).map(([name]) => name);
  return [preferred, current].find((name) => name !== undefined && matching.includes(name)) ?? matching[0];
};

export const requireProfile = (name: string, { all }: Profiles): Profile => {
  const profile = all.get(name);
  if (profile !== undefined) return profile;
  const near = closest(name, [...all.keys()]);
  const advice = near === undefined ? '`eph auth status` lists them, and `eph auth login` makes one.' : `Did you mean ${near}?`;
  throw new CommandFailure('cli.no_profile', `There is no profile ${JSON.stringify(name)}. ${advice}`, {
    exitCode: exitCodes.notFound,
  });
};

export const openConnection = async (options: ServerOptions, variables: Variables): Promise<Connection> => {
  const signIns = new SignIns(variables);
  const profiles = await signIns.profiles();
  const chosen = chooseServer(options, variables, profiles);
  const { server, profile: name } = chosen;
  const stored = name === undefined ? undefined : profiles.all.get(name);
  let reading: Promise<TokenReading> | undefined;
  const readToken = (): Promise<TokenReading> => {
    const given = variables['EPH_TOKEN'];
    if (given) return Promise.resolve(readVariable(given, chosen));
    if (name === undefined || stored === undefined) return readUnstored(server, variables);
    reading ??= signIns.readToken(name, stored).then((found) => ofProfile(name, printServer(server), found));
    return reading;
  };
  return {
    server: toReached(server),
    name: printServer(server),
    profile: name,
    readToken: async () => {
      requireSafeTransport(server);
      return readToken();
    },
  };
};

/** With the token that the caller has, and no other. */
export const connectWith = (server: URL, token: string): Connection => ({
  server: toReached(server),
  name: printServer(server),
  profile: undefined,
  readToken: async () => {
    requireSafeTransport(server);
    return {
      token,
      from: undefined,
      explain: (detail) => `ephd at ${printServer(server)} does not accept this token: ${detail}.`,
    };
  },
});

const readVariable = (token: string, { server, named }: ChosenServer): TokenReading => {
  // It was made for one server, and may not be for the one in use, or for whoever listens on the default port.
  if (!named)
    throw usage(
      `EPH_TOKEN is set, and eph sends it only to a server that you name. Set EPH_SERVER too, for example to ${printServer(server)}.`,
    );
  if (!/^[\x21-\x7e]+$/.test(token)) throw usage('EPH_TOKEN does not contain a token.');
  return {
    token,
    from: 'EPH_TOKEN',
    explain: (detail) => `ephd at ${printServer(server)} does not accept the token in EPH_TOKEN: ${detail}.`,
  };
};

const ofProfile = (
  name: string,
  server: string,
  { place, token }: { readonly place: string; readonly token: string | undefined },
): TokenReading => {
  const again = `\`eph auth login --profile ${name}\``;
  return {
    token,
    from: place,
    explain: (detail) =>
      token === undefined
        ? `The token of profile ${name} is not in ${place} any more. Sign in to ${server} again with ${again}.`
        : `ephd at ${server} does not accept the token of profile ${name}: ${detail}. With a new token, sign in with ${again}.`,
  };
};

const readUnstored = async (server: URL, variables: Variables): Promise<TokenReading> => {
  const name = printServer(server);
  const advice = `Ask an admin for a token, and sign in with \`eph auth login --server ${name}\`.`;
  if (!isLoopback(server.hostname))
    return { token: undefined, from: undefined, explain: () => `You are not signed in to ${name}. ${advice}` };
  const { token, file, refusal } = await readApiToken(toReached(server), name, variables);
  return { token, from: file, explain: () => `${refusal} ${advice}` };
};

const usage = (message: string): CommandFailure => new CommandFailure('cli.usage', message, { exitCode: exitCodes.usage });
