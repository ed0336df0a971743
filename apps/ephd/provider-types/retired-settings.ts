import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EphError, parseJson } from '@eph/contract';
import { z } from 'zod';
import type { RetiredSettings } from './provider-type.ts';

/*
 * What a provider makes somewhere else leaves nothing in its data folder, by which it would be found after it left the file. So its
 * settings are written there. None of them is a secret.
 */

const schema = z.looseObject({ type: z.string() });

const fileIn = (folder: string): string => join(folder, 'settings.json');

export const writeRetired = (folder: string, settings: RetiredSettings): void => {
  const file = fileIn(folder);
  const draft = `${file}.tmp`;
  writeFileSync(draft, `${JSON.stringify(settings, null, 2)}\n`, { mode: 0o600 });
  renameSync(draft, file);
};

/** Undefined where there are none, or those of another type. */
export const readRetired = (folder: string, type: string): RetiredSettings | undefined => {
  const file = fileIn(folder);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return undefined;
    throw refuse(file, error);
  }
  const parsed = schema.safeParse(parseJson(text));
  if (!parsed.success) throw refuse(file, parsed.error);
  return parsed.data.type === type ? parsed.data : undefined;
};

export const forgetRetired = (folder: string): void => rmSync(fileIn(folder), { force: true });

const refuse = (file: string, cause: unknown): EphError =>
  new EphError(
    'config.invalid',
    `${file} cannot be read, so nobody knows where a provider that is no longer in the file holds environments. Put the provider back into the file, or remove its folder if it holds none.`,
    { cause },
  );
