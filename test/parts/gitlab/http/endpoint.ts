import type { z } from 'zod';
import type { User } from '../state/entities.ts';
import type { GitlabState } from '../state/state.ts';

/** A request to one endpoint. */
export interface Call<Parameters> {
  readonly state: GitlabState;
  /** Undefined for a request without a token. */
  readonly user: User | undefined;
  readonly method: string;
  /** Path and query, as they were sent. */
  readonly target: string;
  /** The named parts of the path, decoded. */
  readonly path: (name: string) => string;
  /** Query and body together. */
  readonly parameters: Parameters;
  /** Injected failure: lists are empty. */
  readonly emptyPages: boolean;
}

export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON, or bytes as they are. */
  readonly body?: unknown;
}

export interface Endpoint {
  /** `GET /projects/:id`, as the documentation writes it. */
  readonly name: string;
  readonly parameters: z.ZodType;
  /** What a success looks like; left out for bytes and for no body at all. */
  readonly answer: z.ZodType | undefined;
  readonly handle: (call: Call<never>) => Reply | Promise<Reply>;
}

export const endpoint = <Parameters extends z.ZodType>(
  name: string,
  parameters: Parameters,
  answer: z.ZodType | undefined,
  handle: (call: Call<z.output<Parameters>>) => Reply | Promise<Reply>,
): Endpoint =>
  // The parameters were parsed with the schema of this endpoint.
  ({ name, parameters, answer, handle });

export interface Match {
  readonly endpoint: Endpoint;
  readonly path: Readonly<Record<string, string>>;
}

/**
 * Finds the endpoint of a request. Parts are compared before they are decoded: `group%2Fproject` is one part, and so is a whole
 * file path.
 */
export class Routes {
  readonly #endpoints: readonly { readonly method: string; readonly parts: readonly string[]; readonly endpoint: Endpoint }[];

  constructor(endpoints: readonly Endpoint[]) {
    this.#endpoints = endpoints.map((endpoint) => {
      const [method = '', path = ''] = endpoint.name.split(' ');
      return { method, parts: path.split('/'), endpoint };
    });
  }

  find(method: string, path: string): Match | undefined {
    const wanted = path.split('/');
    const asked = method === 'HEAD' ? 'GET' : method;
    for (const { method: served, parts, endpoint } of this.#endpoints) {
      if (served !== asked || parts.length !== wanted.length) continue;
      if (parts.every((part, index) => part.startsWith(':') || part === wanted[index])) {
        return { endpoint, path: named(parts, wanted) };
      }
    }
    return undefined;
  }
}

const named = (parts: readonly string[], wanted: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    parts.flatMap((part, index) => (part.startsWith(':') ? [[part.slice(1), decodeURIComponent(wanted[index] ?? '')]] : [])),
  );
