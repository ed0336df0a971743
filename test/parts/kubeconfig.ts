import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Login } from './cluster-api.ts';

export interface KubeconfigOptions {
  /** Such as that of a proxy. */
  readonly server: string;
  /** The certificate that the server's is signed by, in PEM. */
  readonly authority: string;
  readonly login: Login;
  readonly namespace?: string;
}

/** Returns the path of a file whose only context has this name. */
export const writeKubeconfig = async (
  folder: string,
  name: string,
  { server, authority, login, namespace }: KubeconfigOptions,
): Promise<string> => {
  const user =
    login.type === 'token'
      ? { token: login.token }
      : { 'client-certificate-data': base64(login.certificate), 'client-key-data': base64(login.key) };
  // A proxy that speaks plain HTTP has no certificate.
  const trust = server.startsWith('https:') ? { 'certificate-authority-data': base64(authority) } : {};
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server, ...trust } }],
    users: [{ name, user }],
    contexts: [{ name, context: { cluster: name, user: name, ...(namespace === undefined ? {} : { namespace }) } }],
    'current-context': name,
  };
  const file = join(folder, `${name}.kubeconfig`);
  // JSON is YAML, which is what it is read as.
  await writeFile(file, JSON.stringify(config), { mode: 0o600 });
  return file;
};

const base64 = (text: string): string => Buffer.from(text).toString('base64');
