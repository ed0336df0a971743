import { createHash, createPrivateKey, createPublicKey, type KeyObject, randomBytes } from 'node:crypto';
import { chmod } from 'node:fs/promises';
import { EphError, registerSecret } from '@eph/contract';
import { z } from 'zod';
import { readJson, writeDurably } from './durable-file.ts';

/** What tokens are signed and verified with. */
export interface Keys {
  readonly signing: { readonly id: string; readonly key: KeyObject };
  /** The public keys, by their id. */
  readonly verifying: ReadonlyMap<string, KeyObject>;
}

/** Two, so that tokens of the former key stay valid while a new one signs. */
const mostKeys = 2;
const keyBytes = 32;

export const keysForm = 'one or two keys of 32 bytes in Base64; `openssl rand -base64 32` makes one';

/** The first key signs, and both verify. Undefined where the text is not one or two keys. */
export const parseKeys = (text: string): Keys | undefined => {
  const words = text.split(/[\s,]+/).filter((word) => word !== '');
  const keys = words.map(importKey);
  const [signing] = keys;
  if (signing === undefined || keys.length > mostKeys || !keys.every((one) => one !== undefined)) return undefined;
  for (const word of words) registerSecret(word);
  return { signing, verifying: new Map(keys.map(({ id, key }) => [id, createPublicKey(key)])) };
};

/** An Ed25519 key in PKCS #8 is these bytes and 32 random ones. */
const pkcs8 = Buffer.from('302e020100300506032b657004220420', 'hex');

const importKey = (text: string): Keys['signing'] | undefined => {
  const bytes = Buffer.from(text, 'base64');
  if (!/^[\w+/-]{43}=?$/.test(text) || bytes.length !== keyBytes) return undefined;
  const key = createPrivateKey({ key: Buffer.concat([pkcs8, bytes]), format: 'der', type: 'pkcs8' });
  const spki = createPublicKey(key).export({ format: 'der', type: 'spki' });
  // Made from the key itself, so that no file can give one key the id of another.
  return { id: createHash('sha256').update(spki).digest('base64url').slice(0, 16), key };
};

const keysFile = z.strictObject({ keys: z.array(z.string()) });

/** Reads the keys from a file, which is made where there is none. One that cannot be read is left as it is. */
export const readKeysFile = async (path: string): Promise<Keys> => {
  const content = await readJson(path);
  const file = keysFile.safeParse(content === undefined ? await makeKeysFile(path) : content);
  const keys = file.success ? parseKeys(file.data.keys.join(' ')) : undefined;
  if (keys === undefined)
    throw new EphError(
      'config.invalid',
      `${path} is damaged: \`keys\` must be a list of ${keysForm}; repair it, or delete it and start ephd again, which ends all tokens`,
    );
  // One that was restored from a backup may have another mode.
  await chmod(path, 0o600);
  return keys;
};

const makeKeysFile = async (path: string): Promise<z.output<typeof keysFile>> => {
  const content = { keys: [randomBytes(keyBytes).toString('base64url')] };
  await writeDurably(path, content);
  return content;
};
