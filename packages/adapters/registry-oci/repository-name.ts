import { EphError } from '@eph/contract';

/** A repository, checked: nothing of it can leave its place in an address. */
export interface RepositoryName {
  /** The registry, by which settings and credentials are found. */
  readonly host: string;
  /** Where its API is. */
  readonly apiHost: string;
  readonly path: string;
  /** The whole name. */
  readonly shown: string;
}

const longest = 512;
const hostForm = /^(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;
const pathForm = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$/;

const dockerHub = 'docker.io';
const dockerHubHosts: ReadonlySet<string> = new Set([dockerHub, 'index.docker.io', 'registry-1.docker.io']);
const dockerHubApi = 'registry-1.docker.io';

export const parseRepositoryName = (name: string): RepositoryName => {
  const at = name.indexOf('/');
  const host = parseHost(name.slice(0, Math.max(at, 0)));
  const path = name.slice(at + 1);
  if (host === undefined || name.length > longest || !pathForm.test(path))
    throw new EphError(
      'registry.refused',
      `${JSON.stringify(name.slice(0, longest))} is not the name of a repository, such as ghcr.io/acme/shop.`,
    );
  return { host, apiHost: host === dockerHub ? dockerHubApi : host, path, shown: `${host}/${path}` };
};

/** As addresses are compared: in lower case, and without the port of HTTPS. */
export const parseHost = (text: string): string | undefined => {
  const url = hostForm.test(text) ? URL.parse(`https://${text}`) : null;
  if (url === null) return undefined;
  return dockerHubHosts.has(url.host) ? dockerHub : url.host;
};

const tagForm = /^\w[\w.-]{0,127}$/;
const digestForm = /^sha256:[0-9a-f]{64}$/;

export const isTag = (text: string): boolean => tagForm.test(text);
export const isDigest = (text: string): boolean => digestForm.test(text);

/** Neither can leave its place in an address. */
export const checkReference = (reference: string): void => {
  if (!isTag(reference) && !isDigest(reference))
    throw new EphError(
      'registry.refused',
      `${JSON.stringify(reference.slice(0, 200))} is not a tag: letters, digits, _, . and -, at most 128 characters. Nor is it a digest.`,
    );
};

export const checkDigest = (reference: string): void => {
  if (!isDigest(reference))
    throw new EphError('registry.refused', `${JSON.stringify(reference.slice(0, 200))} is not a digest such as sha256:….`);
};
