import { EphError } from '@eph/contract';

/** `what` and `example` are for the message. */
export const parseBaseUrl = (text: string, what: string, example: string): { readonly href: string; readonly host: string } => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    throw new EphError('config.invalid', `${JSON.stringify(text)} is not the URL of ${what}, such as ${example}.`);
  return { href: `${url.origin}${url.pathname}`.replace(/\/+$/, ''), host: url.host };
};

/** A clone URL. The forges ignore the user name, but Git needs one. */
export const withToken = (address: string, user: string, token: string): string => {
  const url = new URL(address);
  url.username = user;
  url.password = encodeURIComponent(token);
  return url.href;
};
