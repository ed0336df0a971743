/** Whether this host, as a URL or a person writes it, is the own machine, so that nobody on the way can read along. */
export const isLoopback = (host: string): boolean => /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/.test(host);
