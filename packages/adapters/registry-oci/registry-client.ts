import { EphError, type ProjectId, type PullSecrets } from '@eph/contract';
import type { Authorizer } from './authorization.ts';
import type { Credentials } from './docker-config.ts';
import type { Exchange, RegistryAnswer } from './exchange.ts';
import type { FindPullCredentials } from './pull-secrets.ts';
import type { RegistryHost } from './registry-hosts.ts';
import type { RepositoryName } from './repository-name.ts';

export interface RepositoryRequest {
  readonly name: RepositoryName;
  readonly project: ProjectId;
  readonly pullSecrets?: PullSecrets | undefined;
  readonly method: 'GET' | 'HEAD';
  /** Of the repository, such as `tags/list?n=1000`. */
  readonly path: string;
  readonly accept?: string;
  readonly limitBytes: number;
}

/** Status 200, or 404: what is asked for does not exist. Everything else throws. */
export type Ask = (request: RepositoryRequest, signal: AbortSignal) => Promise<RegistryAnswer>;

export interface RegistryClientOptions {
  readonly exchange: Exchange;
  readonly authorizer: Authorizer;
  readonly pullCredentials: FindPullCredentials;
  readonly hostOf: (name: RepositoryName, project: ProjectId, credentials?: Credentials) => RegistryHost;
}

export const createRegistryClient =
  ({ exchange, authorizer, pullCredentials, hostOf }: RegistryClientOptions): Ask =>
  async ({ name, project, pullSecrets, method, path, accept, limitBytes }, signal) => {
    const own = pullSecrets && (await pullCredentials(project, pullSecrets, name.host, signal));
    const on = hostOf(name, project, own);
    const subject = { on, path: name.path, isList: path.startsWith('tags/') };
    const url = new URL(`/v2/${name.path}/${path}`, on.origin);
    const headers = accept === undefined ? {} : { accept };
    const send = (authorization: string | undefined): Promise<RegistryAnswer> =>
      exchange(on, { method, url, headers, authorization, limitBytes }, signal);

    let answer = await send(await authorizer.current(subject, signal));
    // What another host wants is nobody's business: credentials are for the registry.
    if (answer.status === 401 && !answer.isElsewhere)
      answer = await send(await authorizer.answer(subject, challengeOf(answer), signal));
    const { status, isElsewhere } = answer;
    if (status === 200 || status === 404) return answer;
    if (status !== 401 && status !== 403)
      throw new EphError('registry.refused', `${on.host} answers with status ${status}, which ephd does not understand.`);
    if (!isElsewhere) throw authorizer.refusal(subject);
    // An address that the registry signed may have expired.
    throw new EphError('registry.unreachable', `${on.host} leads to another host for ${name.shown}, which refuses ephd.`);
  };

const challengeOf = ({ headers }: RegistryAnswer): string => [headers['www-authenticate'] ?? []].flat().join(', ');
