import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { getDebianPackage } from './debian-package.ts';
import { describeSearch, findProgram, readVersion, type Search } from './find-program.ts';
import type { Program } from './part.ts';

const search: Search = { program: 'openssl', places: ['/usr/bin', '/usr/local/bin'] };

export const openssl: Program = {
  name: 'openssl',
  purpose: 'command, what certificates for TLS are made with',
  find: () => {
    const where = findProgram(search, process.env);
    if (where === undefined) return { found: false, reason: describeSearch(search, process.env) };
    return { found: true, where, version: readVersion(where, 'version') };
  },
  get: (progress, signal) => getDebianPackage('openssl', 'openssl', progress, signal),
};

/** Writes `<name>.pem`, a certificate for 127.0.0.1 and eph.example.com that signs itself, and `<name>.key` to the folder. */
export const makeCertificate = (folder: string, name: string, days = 2): void => {
  const type = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', String(days)];
  const names = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1,DNS:eph.example.com'];
  const files = ['-keyout', join(folder, `${name}.key`), '-out', join(folder, `${name}.pem`)];
  execFileSync(locateOpenssl(), ['req', ...type, ...names, ...files], { stdio: 'ignore' });
};

export const locateOpenssl = (): string => {
  const program = findProgram(search, process.env);
  if (program === undefined) throw new Error(`openssl is missing: ${describeSearch(search, process.env)}`);
  return program;
};
