/** An answer of GitLab that is not a success. https://docs.gitlab.com/api/rest/troubleshooting/#status-codes */
export class Refusal extends Error {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}) {
    super(`${status} ${JSON.stringify(body)}`);
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

const withMessage = (status: number, message: unknown): Refusal => new Refusal(status, { message });

export const badRequest = (reason: string): Refusal => withMessage(400, `400 Bad request - ${reason}`);

/** Refused by a model: one message, or messages per attribute. */
export const invalid = (message: string | Readonly<Record<string, readonly string[]>>): Refusal => withMessage(400, message);

/** Refused before any model saw it. */
export const badParameter = (error: string): Refusal => new Refusal(400, { error });

export const unauthorized = (): Refusal => withMessage(401, '401 Unauthorized');

/** https://docs.gitlab.com/api/rest/authentication/ */
export const invalidToken = (description: string): Refusal =>
  new Refusal(
    401,
    { error: 'invalid_token', error_description: description },
    { 'www-authenticate': 'Bearer realm="Protected by OAuth 2.0"' },
  );

export const insufficientScope = (needed: string): Refusal =>
  new Refusal(403, {
    error: 'insufficient_scope',
    error_description: 'The request requires higher privileges than provided by the access token.',
    scope: needed,
  });

export const forbidden = (reason?: string): Refusal =>
  withMessage(403, `403 Forbidden${reason === undefined ? '' : ` - ${reason}`}`);

/** The 404 of GitLab's own lookups. */
export const notFound = (what: string): Refusal => withMessage(404, `404 ${what} Not Found`);

/** The 404 of a missing database row, which GitLab spells differently. */
export const noRecord = (): Refusal => withMessage(404, '404 Not found');

export const notAllowed = (reason: string): Refusal => withMessage(405, reason);

export const conflict = (message: unknown): Refusal => withMessage(409, message);
