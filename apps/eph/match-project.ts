import type { ProjectView } from '@eph/contract';
import type { Checkout, Remote } from './read-checkout.ts';

export interface Match {
  readonly project: string;
  /** Undefined where ephd reads the repository of the checkout itself. */
  readonly remote: Remote | undefined;
}

/** The projects that are a remote of the checkout, or its own repository. */
export const matchProjects = (
  { repository, remotes }: Pick<Checkout, 'repository' | 'remotes'>,
  projects: readonly Pick<ProjectView, 'id' | 'address'>[],
): readonly Match[] =>
  projects.flatMap(({ id, address }) => {
    const wanted = normalizeAddress(address);
    if (normalizeAddress(repository) === wanted) return { project: id, remote: undefined };
    const remote = remotes.find(({ url }) => normalizeAddress(url) === wanted);
    return remote === undefined ? [] : { project: id, remote };
  });

/**
 * One text for all addresses of a repository. User, port and transport do not count: `https://git.example.com/acme/shop` and
 * `ssh://git@git.example.com:2222/acme/shop.git` are the same one. On servers, the case does not count either.
 */
export const normalizeAddress = (text: string): string => {
  const url = URL.parse(text);
  if (url?.protocol === 'file:') return trimPath(url.pathname);
  if (url !== null && text.includes('://')) return onHost(url.hostname, url.pathname);
  const [, host, path] = /^(?:[^@/:]+@)?(\[[^\]]+\]|[^/:]+):(.*)$/.exec(text) ?? [];
  return host === undefined || path === undefined ? trimPath(text) : onHost(host, path);
};

const onHost = (host: string, path: string): string => `${host}/${trimPath(path).replace(/^\/+/, '')}`.toLowerCase();

const trimPath = (path: string): string =>
  path
    .replace(/\/+$/, '')
    .replace(/\/?\.git$/, '')
    .replace(/\/+$/, '');
