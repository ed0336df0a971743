/** The web host of an API: `https://github.com` for `https://api.github.com`. */
export const webUrlOf = (api: string): string =>
  api.replace(/\/api\/v3$/, '').replace(/^https:\/\/api\.((?:[\w-]+\.ghe|github)\.com)$/, 'https://$1');

/** The address of a repository for Git. */
export const gitUrlOf = (api: string, owner: string, repository: string): string =>
  `${webUrlOf(api)}/${encodeURIComponent(owner)}/${encodeURIComponent(repository)}.git`;
