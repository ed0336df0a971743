/** What a route answers; headers that every answer carries are added later. */
export type Answer =
  | {
      readonly kind: 'json';
      readonly status: number;
      readonly body: unknown;
      readonly headers: Headers;
      readonly modifiedAt?: number;
    }
  | { readonly kind: 'page'; readonly total: number; readonly render: (from: number, to: number) => unknown }
  | {
      readonly kind: 'cursor-page';
      readonly list: CursorList;
      readonly render: (from: number, to: number) => Promise<readonly unknown[]>;
    }
  | { readonly kind: 'empty'; readonly status: number; readonly headers: Headers };

export interface CursorList {
  readonly ids: readonly number[];
  readonly ascending: boolean;
}

/** An answer after pagination. */
export type RenderedAnswer = Exclude<Answer, { readonly kind: 'page' | 'cursor-page' }>;

export type Headers = Readonly<Record<string, string>>;

/** With `modifiedAt` where GitHub sends `Last-Modified`: on single things, hardly ever on lists. */
export const ok = (body: unknown, modifiedAt?: number): Answer => ({
  kind: 'json',
  status: 200,
  body,
  headers: {},
  ...(modifiedAt === undefined ? {} : { modifiedAt }),
});

export const created = (body: unknown, location?: string): Answer => ({
  kind: 'json',
  status: 201,
  body,
  headers: location === undefined ? {} : { location },
});

export const empty = (status: number, headers: Headers = {}): Answer => ({ kind: 'empty', status, headers });

/** A list of which only the requested page is shown. */
export const page = <T>(
  items: readonly T[],
  show: (item: T) => unknown,
  wrap: (shown: readonly unknown[], total: number) => unknown = (shown) => shown,
): Answer => ({
  kind: 'page',
  total: items.length,
  render: async (from, to) => wrap(await Promise.all(items.slice(from, to).map(show)), to === 0 ? 0 : items.length),
});

/** A list that is walked from entry to entry, because it grows while it is walked. The items come in the order of their ids. */
export const cursorPage = <T extends { readonly id: number }>(
  items: readonly T[],
  direction: 'asc' | 'desc',
  show: (item: T) => unknown,
): Answer => {
  const ordered = direction === 'asc' ? items : items.toReversed();
  return {
    kind: 'cursor-page',
    list: { ids: ordered.map(({ id }) => id), ascending: direction === 'asc' },
    render: async (from, to) => Promise.all(ordered.slice(from, to).map(show)),
  };
};

interface FieldError {
  readonly resource: string;
  readonly field?: string;
  readonly code: string;
  readonly message?: string;
}

/** An error answer. */
export class Problem extends Error {
  readonly status: number;
  readonly errors: readonly FieldError[] | undefined;
  readonly headers: Headers;

  constructor(status: number, message: string, errors?: readonly FieldError[], headers: Headers = {}) {
    super(message);
    this.status = status;
    this.errors = errors;
    this.headers = headers;
  }
}

export const notFound = (): Problem => new Problem(404, 'Not Found');

export const invalid = (resource: string, field: string, code: string, message?: string): Problem =>
  new Problem(422, 'Validation Failed', [{ resource, field, code, ...(message === undefined ? {} : { message }) }]);

/** The value, or 404 if it is undefined. */
export const found = <T>(value: T | undefined): T => {
  if (value === undefined) throw notFound();
  return value;
};
