import { CommandFailure } from '../command-failure.ts';
import type { CredentialKey, Credentials } from './credentials.ts';

type Variables = Readonly<Record<string, string | undefined>>;

/** Undefined where the system has none that eph can use. */
export const chooseKeychain = (platform: NodeJS.Platform, variables: Variables): Credentials | undefined => {
  if (platform === 'linux') return createSecretTool(variables);
  return platform === 'darwin' ? createSecurity(variables) : undefined;
};

/** The Secret Service of the desktop, such as GNOME Keyring or KWallet, by `secret-tool` of libsecret. */
export const createSecretTool = (variables: Variables): Credentials => {
  const run = runner('secret-tool', variables);
  const attributes = ({ profile, origin }: CredentialKey): string[] => ['service', 'eph', 'profile', profile, 'server', origin];
  /** Status 1 without a message: there is no such item. */
  const unlessMissing = ({ status, out, message }: Ending): string | undefined => {
    if (status === 0) return out;
    if (status === 1 && message === '') return undefined;
    throw unavailable(message || `secret-tool ended with status ${status}`);
  };
  return {
    place: 'the keychain',
    read: async (key) => unlessMissing(await run(['lookup', ...attributes(key)])),
    write: async (key, token) => {
      const { status, message } = await run(['store', '--label', `Eph: ${key.origin}`, ...attributes(key)], token);
      if (status !== 0) throw unavailable(message || `secret-tool ended with status ${status}`);
    },
    remove: async (key) => void unlessMissing(await run(['clear', ...attributes(key)])),
  };
};

const notFoundStatus = 44;

/** The keychain of macOS, by `security`. */
export const createSecurity = (variables: Variables): Credentials => {
  const run = runner('security', variables);
  const item = ({ profile, origin }: CredentialKey): string[] => ['-s', `eph ${origin}`, '-a', profile];
  const unlessMissing = ({ status, out, message }: Ending): string | undefined => {
    if (status === 0) return out.trim();
    if (status === notFoundStatus) return undefined;
    throw unavailable(message || `security ended with status ${status}`);
  };
  const read: Credentials['read'] = async (key) => unlessMissing(await run(['find-generic-password', ...item(key), '-w']));
  return {
    place: 'the keychain',
    read,
    write: async (key, token) => {
      // As an argument the token could be seen by other users. With `-i`, commands come from standard input.
      const words = ['add-generic-password', '-U', ...item(key), '-w', token].map((word) => `"${word}"`).join(' ');
      if (words.length >= mostCommandBytes) throw unavailable('the token is too long for it');
      const { message } = await run(['-i'], `${words}\n`);
      // `security -i` ends with status 0 also if a command fails.
      if ((await read(key)) !== token) throw unavailable(message || 'it did not store the token');
    },
    remove: async (key) => void unlessMissing(await run(['delete-generic-password', ...item(key)])),
  };
};

/** `security -i` cuts longer lines. */
const mostCommandBytes = 4_096;

interface Ending {
  readonly status: number | null;
  readonly out: string;
  readonly message: string;
}

/** Somebody may have to type the password of the keychain first. */
const timeoutMs = 60_000;

const runner =
  (program: string, variables: Variables) =>
  async (args: readonly string[], input = ''): Promise<Ending> => {
    // Loaded only here: most commands need no keychain.
    const { spawn } = await import('node:child_process');
    const { text } = await import('node:stream/consumers');
    // Not `timeout`, whose timer outlives a program that cannot be started.
    const signal = AbortSignal.timeout(timeoutMs);
    const child = spawn(program, args, { env: { ...variables }, stdio: ['pipe', 'pipe', 'pipe'], signal });
    // A program that does not read its input ends with a status that says more.
    child.stdin.on('error', () => undefined).end(input);
    const closed = new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    const [status, out, message] = await Promise.all([closed, text(child.stdout), text(child.stderr)]).catch((error: unknown) => {
      if (signal.aborted) throw unavailable(`${program} did not answer within ${timeoutMs / 1_000} s`);
      throw unavailable((error as NodeJS.ErrnoException).code === 'ENOENT' ? `${program} is not installed` : String(error));
    });
    return { status, out, message: message.trim() };
  };

const unavailable = (why: string): CommandFailure => new CommandFailure('cli.keychain', `The keychain cannot be used: ${why}.`);
