import { randomBytes } from 'node:crypto';
import { inject } from 'vitest';
import { GiteaAccess, type GiteaAddress } from './gitea-server.ts';

/** The Gitea of this run. Other files use it at the same time: users and organisations need names of their own. */
export const findSharedGitea = async (): Promise<GiteaAccess> => {
  const response = await fetch(inject('sharedGitea'));
  if (!response.ok) throw new Error(await response.text());
  return new GiteaAccess((await response.json()) as GiteaAddress);
};

/** For a user or an organisation that nobody else has. */
export const ownName = (name: string): string => `${name}-${randomBytes(4).toString('hex')}`;
