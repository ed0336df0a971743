import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { getDebianPackage } from './debian-package.ts';
import { describeSearch, findProgram, readVersion, type Search } from './find-program.ts';
import type { Program } from './part.ts';

const search: Search = { program: 'skopeo', places: ['/usr/bin', '/usr/local/bin'] };

export const skopeo: Program = {
  name: 'skopeo',
  purpose: 'command, what images are copied to registries with',
  find: () => {
    const where = findProgram(search, process.env);
    if (where === undefined) return { found: false, reason: describeSearch(search, process.env) };
    return { found: true, where, version: readVersion(where, '--version') };
  },
  get: (progress, signal) => getDebianPackage('skopeo', 'skopeo', progress, signal),
};

export interface SkopeoLogin {
  readonly name: string;
  readonly password: string;
}

/**
 * Copies an image or an index, with all of its images, from an OCI layout.
 *
 * @param target `host/repository:tag`. A host of the test is not asked for a certificate that others trust.
 * @param format `v2s2` for the media types of Docker; the digest then differs from that in the layout.
 */
export const copyToRegistry = async (
  { folder, tag }: { readonly folder: string; readonly tag: string },
  target: string,
  { login, format }: { readonly login?: SkopeoLogin | undefined; readonly format?: 'v2s2' } = {},
): Promise<void> => {
  const creds = login === undefined ? [] : ['--dest-creds', `${login.name}:${login.password}`];
  const form = format === undefined ? ['--preserve-digests'] : ['--format', format];
  await run(
    'copy',
    '--quiet',
    '--all',
    '--dest-tls-verify=false',
    ...creds,
    ...form,
    `oci:${folder}:${tag}`,
    `docker://${target}`,
  );
};

/** Deletes an image with all of its tags. */
export const deleteFromRegistry = async (target: string, login?: SkopeoLogin): Promise<void> => {
  const creds = login === undefined ? [] : ['--creds', `${login.name}:${login.password}`];
  await run('delete', '--tls-verify=false', ...creds, `docker://${target}`);
};

const run = async (...args: readonly string[]): Promise<void> => {
  const program = findProgram(search, process.env);
  if (program === undefined) throw new Error(`skopeo is missing: ${describeSearch(search, process.env)}`);
  await promisify(execFile)(program, ['--insecure-policy', ...args]);
};
