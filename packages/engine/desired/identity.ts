import { createHash, createHmac } from 'node:crypto';
import {
  type EnvironmentId,
  type EnvironmentName,
  environmentId,
  environmentName,
  type ProjectId,
  type SourceRef,
  sourceKey,
  toDnsLabel,
} from '@eph/contract';
import { adjectives, nouns } from './words.ts';

/** Depends on project and source only: the same on every machine, with any key, under any template. */
export const identify = (project: ProjectId, ref: SourceRef): EnvironmentId =>
  environmentId(
    createHash('sha256')
      .update(`${project}\0${sourceKey(ref)}`)
      .digest('hex')
      .slice(0, 16),
  );

export interface NameParts {
  readonly words: string;
  readonly number: string;
}

/** Cannot be guessed without the server key, so that a branch name does not reveal the address. */
export const nameParts = (serverKey: string, project: ProjectId, ref: SourceRef, attempt: number): NameParts => {
  const digest = createHmac('sha256', serverKey)
    .update(`${project}\0${sourceKey(ref)}\0${attempt}`)
    .digest();
  const adjective = adjectives[digest.readUInt16BE(0) % adjectives.length];
  const noun = nouns[digest.readUInt16BE(2) % nouns.length];
  return { words: `${adjective}-${noun}`, number: String(1000 + (digest.readUInt32BE(4) % 9000)) };
};

/** Chooses a free name. Called once per environment; later the name is read back from the environment. */
export const chooseName = (
  render: (parts: NameParts) => string,
  parts: (attempt: number) => NameParts,
  isTaken: (name: EnvironmentName) => boolean,
): EnvironmentName => {
  for (let attempt = 0; ; attempt += 1) {
    const chosen = parts(attempt);
    // A template without words and number always renders the same name, so they are appended. The numbers alone would
    // run out.
    const more = ['', `-${chosen.number}`][attempt] ?? `-${chosen.words}-${chosen.number}`;
    const name = environmentName(toDnsLabel(`${render(chosen)}${more}`));
    if (!isTaken(name)) return name;
  }
};
