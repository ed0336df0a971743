// The package has types and no main file, so its one file is named.
import type { components, operations } from '@octokit/openapi-types/types.d.ts';

/** The shapes of GitHub's description as types; the same description is checked at run time on every request and answer. */
export type Shape<Name extends keyof components['schemas']> = components['schemas'][Name];

export type OperationId = keyof operations;

type Parameters<Id extends OperationId> = operations[Id] extends { parameters: infer P } ? P : never;

/** JSON as Node reads it has no big integers. */
type Plain<T> = { [Key in keyof T]: Exclude<T[Key], bigint> };

/** Integers arrive as numbers and booleans as booleans: the request was checked against the description before. */
export type PathOf<Id extends OperationId> =
  Parameters<Id> extends { path: infer P } ? Plain<P> : Readonly<Record<string, unknown>>;

export type QueryOf<Id extends OperationId> =
  Parameters<Id> extends { query?: infer Q } ? Plain<NonNullable<Q>> : Readonly<Record<string, unknown>>;

export type BodyOf<Id extends OperationId> = operations[Id] extends {
  requestBody?: infer B;
}
  ? NonNullable<B> extends { content: { 'application/json': infer J } }
    ? J
    : undefined
  : undefined;
