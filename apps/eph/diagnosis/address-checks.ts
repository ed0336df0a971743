import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { connect, type PeerCertificate } from 'node:tls';
import { isLoopback } from '@eph/contract';
import { type Check, createCheck } from './check.ts';

const patienceMs = 5_000;

/** Whether programs on this machine find the host of an environment. */
export const checkName = async (url: string): Promise<Check> => {
  const dns = createCheck('DNS');
  const { hostname } = new URL(url);
  try {
    const found = await lookup(hostname, { all: true });
    return dns.ok(`${hostname} is ${found.map(({ address }) => address).join(', ')}`);
  } catch (error) {
    const { code = String(error) } = error as NodeJS.ErrnoException;
    if (hostname.endsWith('.localhost'))
      return dns.attention(
        `${hostname} is not found here (${code})`,
        'Browsers find such names themselves. Other programs need `--resolve` of curl, or the header X-Eph-Environment.',
      );
    const domain = hostname.replace(/^[^.]+/, '*');
    return dns.failing(
      `${hostname} is not found here (${code})`,
      `Add a DNS record for ${domain} that leads to the gateway of ephd.`,
    );
  }
};

/** @param what whose certificate it is */
export const checkCertificate = async (what: string, { hostname, port, protocol }: URL, now: number): Promise<Check> => {
  const tls = createCheck('TLS');
  if (protocol !== 'https:')
    return isLoopback(hostname) || hostname.endsWith('.localhost')
      ? tls.ok(`${what} is on this machine, without TLS`)
      : tls.attention(
          `${what} is reached without TLS`,
          'Everybody on the way can read what is sent. Use https://, or a tunnel with `ssh -L`.',
        );
  const { certificate, fault } = await readCertificate(hostname.replace(/^\[|\]$/g, ''), Number(port || 443));
  if (fault !== undefined) return tls.failing(`the certificate of ${what} is not valid: ${fault}`, 'Renew or correct it.');
  const until = Date.parse(certificate.valid_to);
  const days = Math.floor((until - now) / 86_400_000);
  if (days >= 14) return tls.ok(`the certificate of ${what} is valid for ${days} days`);
  return tls.attention(`the certificate of ${what} expires at ${new Date(until).toISOString()}`, 'Renew it.');
};

/** Nothing is sent, so a certificate that is not valid may be read too. */
const readCertificate = (
  host: string,
  port: number,
): Promise<{ readonly certificate: PeerCertificate; readonly fault: string | undefined }> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host, port, servername: isIP(host) === 0 ? host : '', rejectUnauthorized: false });
    socket.setTimeout(patienceMs, () => socket.destroy(new Error(`${host} did not answer`)));
    socket.once('error', reject);
    socket.once('secureConnect', () => {
      const certificate = socket.getPeerCertificate();
      resolve({ certificate, fault: socket.authorized ? undefined : String(socket.authorizationError) });
      socket.destroy();
    });
  });
