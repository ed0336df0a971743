import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { EphError, type Log } from '@eph/contract';
import type { Clock } from '@eph/engine/time/clock';

/** Paths of files in PEM. */
export interface CertificateFiles {
  readonly certificate: string;
  readonly key: string;
}

export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

const checkEveryMs = 10_000;

/** Throws where a file cannot be read, or the two do not belong together. */
export const readCertificate = async (files: CertificateFiles): Promise<Certificate> => {
  try {
    const [cert, key] = await Promise.all([readFile(files.certificate, 'utf8'), readFile(files.key, 'utf8')]);
    createSecureContext({ cert, key });
    return { cert, key };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new EphError('config.invalid', `the files of api.tls cannot be used: ${why}`, { cause: error });
  }
};

/**
 * Reads the files again and again, because those who renew certificates replace files, links or whole folders, and a watch sees only
 * some of that. A pair that cannot be used, such as a new certificate beside the old key, changes nothing and is logged once.
 */
export const followCertificate = (
  files: CertificateFiles,
  current: Certificate,
  { clock, log, use }: { readonly clock: Clock; readonly log: Log; readonly use: (certificate: Certificate) => void },
): Disposable => {
  let [used, fault] = [current, ''];
  const check = async (): Promise<void> => {
    try {
      const found = await readCertificate(files);
      if (found.cert !== used.cert || found.key !== used.key) {
        use(found);
        used = found;
        log.info({ certificate: files.certificate }, 'the certificate was replaced');
      }
      fault = '';
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (message !== fault) log.warn({ certificate: files.certificate }, `${message}; the one before stays in use`);
      fault = message;
    }
    wait();
  };
  let [cancel, ended] = [(): void => undefined, false];
  const wait = (): void => {
    if (!ended) cancel = clock.after(checkEveryMs, () => void check());
  };
  wait();
  return {
    [Symbol.dispose]() {
      ended = true;
      cancel();
    },
  };
};
