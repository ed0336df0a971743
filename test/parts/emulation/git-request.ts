/** A request of `git fetch` or `git push`. */
export interface GitRequest {
  readonly method: string;
  /** Of the repository, still encoded, without `.git`. */
  readonly path: string;
  readonly service: (typeof services)[keyof typeof services];
  readonly query: string;
  readonly isPush: boolean;
}

const services = {
  'GET /info/refs': '/info/refs',
  'POST /git-upload-pack': '/git-upload-pack',
  'POST /git-receive-pack': '/git-receive-pack',
} as const;

/** `undefined` for other requests, and for the protocol without a service, which no forge speaks any more. */
export const parseGitRequest = (method: string, target: string): GitRequest | undefined => {
  const [, path, service = '', query = ''] = /^\/(?!api\/)(.+)\.git(\/[^?]+)(?:\?(.*))?$/u.exec(target) ?? [];
  const key = `${method} ${service}`;
  if (path === undefined || !isService(key)) return undefined;
  const asked = key === 'GET /info/refs' ? `/${new URLSearchParams(query).get('service') ?? ''}` : service;
  if (asked !== '/git-upload-pack' && asked !== '/git-receive-pack') return undefined;
  return { method, path, service: services[key], query, isPush: asked === '/git-receive-pack' };
};

const isService = (key: string): key is keyof typeof services => Object.hasOwn(services, key);
