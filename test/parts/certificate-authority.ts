import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { locateOpenssl } from './openssl.ts';

const execute = promisify(execFile);

/** In PEM. */
export interface Certificate {
  readonly certificate: string;
  readonly key: string;
}

export interface Subject {
  readonly name: string;
  readonly organisations?: readonly string[];
  /** Hosts, such as `DNS:localhost` or `IP:127.0.0.1`. */
  readonly hosts?: readonly string[];
}

const authorityName = 'authority';
const configuration = 'openssl.cnf';

/** Whoever has the folder of an authority can issue certificates in its name. */
export class CertificateAuthority {
  readonly folder: string;
  readonly certificateFile: string;

  constructor(folder: string) {
    this.folder = folder;
    this.certificateFile = join(folder, `${authorityName}.pem`);
  }

  static async create(folder: string): Promise<CertificateAuthority> {
    // The system's own configuration makes each certificate an authority.
    await writeFile(join(folder, configuration), '[req]\ndistinguished_name = name\n[name]\n');
    const authority = new CertificateAuthority(folder);
    await authority.#request(authorityName, { name: 'eph-test' }, ['-addext', 'basicConstraints=critical,CA:TRUE']);
    return authority;
  }

  async issue(subject: Subject): Promise<Certificate> {
    const file = `issued-${randomBytes(4).toString('hex')}`;
    const issuer = ['-CA', this.certificateFile, '-CAkey', join(this.folder, `${authorityName}.key`)];
    const hosts = subject.hosts === undefined ? [] : ['-addext', `subjectAltName=${subject.hosts.join(',')}`];
    const [certificate, key] = await this.#request(file, subject, [...issuer, ...hosts]);
    const issued = { certificate: await readFile(certificate, 'utf8'), key: await readFile(key, 'utf8') };
    await Promise.all([rm(certificate), rm(key)]);
    return issued;
  }

  async #request(
    file: string,
    { name, organisations = [] }: Subject,
    extensions: readonly string[],
  ): Promise<readonly [string, string]> {
    const [certificate, key] = [join(this.folder, `${file}.pem`), join(this.folder, `${file}.key`)];
    const subject = [...organisations.map((organisation) => `/O=${organisation}`), `/CN=${name}`].join('');
    const type = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
    const files = ['-config', join(this.folder, configuration), '-keyout', key, '-out', certificate];
    await execute(locateOpenssl(), ['req', ...type, '-subj', subject, ...extensions, ...files]);
    return [certificate, key];
  }
}
