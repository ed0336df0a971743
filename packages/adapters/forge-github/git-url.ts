/** The address of a repository for Git, on the web host of an API: `https://github.com` for `https://api.github.com`. */
export const gitUrlOf = (api: string, owner: string, repository: string): string => {
  const web = api.replace(/\/api\/v3$/, '').replace(/^https:\/\/api\.((?:[\w-]+\.ghe|github)\.com)$/, 'https://$1');
  return `${web}/${encodeURIComponent(owner)}/${encodeURIComponent(repository)}.git`;
};
