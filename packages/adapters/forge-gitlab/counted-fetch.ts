/**
 * Adds GitLab's pagination headers to entity tags. Its own tags cover only the body: if a merge request on another page
 * is closed, this page is unchanged but the total is not. Such a page is read again.
 */
export const createCountedFetch =
  (fetch: typeof globalThis.fetch): typeof globalThis.fetch =>
  async (input, init) => {
    const headers = new Headers(init?.headers);
    const asked = parseTag(headers.get('if-none-match'));
    if (asked === undefined) return counted(await fetch(input, init));
    headers.set('if-none-match', asked.tag);
    const response = await fetch(input, { ...init, headers });
    if (response.status !== 304 || countOf(response.headers) === asked.count) return counted(response);
    headers.delete('if-none-match');
    return counted(await fetch(input, { ...init, headers }));
  };

const parseTag = (text: string | null): { readonly tag: string; readonly count: string } | undefined => {
  const [, count = '', tag] = /^(\d*,\d*) (.*)$/.exec(text ?? '') ?? [];
  return tag === undefined ? undefined : { tag, count };
};

const countOf = (headers: Headers): string => `${digits(headers.get('x-total'))},${digits(headers.get('x-next-page'))}`;

const digits = (text: string | null): string => (text !== null && /^\d+$/.test(text) ? text : '');

const counted = (response: Response): Response => {
  const tag = response.headers.get('etag');
  if (tag === null) return response;
  const headers = new Headers(response.headers);
  headers.set('etag', `${countOf(headers)} ${tag}`);
  const { status, statusText } = response;
  return new Response(response.body, { status, statusText, headers });
};
