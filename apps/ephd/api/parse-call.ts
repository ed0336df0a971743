import { type BodyShape, EphError } from '@eph/contract';
import { z } from 'zod';

const mostJsonBytes = 64 * 1024;

/** The query as its schema wants it. A name that is not in the schema, or is there twice, is a mistake of the caller. */
export const parseQuery = (schema: z.ZodObject | undefined, search: URLSearchParams): unknown => {
  if (schema === undefined && search.size === 0) return undefined;
  const given: Record<string, unknown> = {};
  for (const name of new Set(search.keys())) {
    const values = search.getAll(name);
    if (isList(schema?.shape[name])) given[name] = values;
    else if (values.length > 1) throw new EphError('api.bad_request', `the query has ${JSON.stringify(name)} twice`);
    else given[name] = values[0];
  }
  return parse(schema ?? z.strictObject({}), given, 'the query');
};

const isList = (schema: unknown): boolean => {
  const inner = schema instanceof z.ZodOptional || schema instanceof z.ZodDefault ? schema.unwrap() : schema;
  return inner instanceof z.ZodArray;
};

export const parseBody = async (shape: BodyShape | undefined, request: Request): Promise<unknown> => {
  if (shape === undefined) return undefined;
  const bytes = await readBytes(request, shape.type === 'json' ? mostJsonBytes : shape.most);
  if (shape.type === 'bytes') return bytes;
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw new EphError('api.bad_request', 'the body is not JSON', { cause: error });
  }
  return parse(shape.schema, value, 'the body');
};

const parse = (schema: z.ZodType, value: unknown, what: string): unknown => {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const where = issue === undefined || issue.path.length === 0 ? '' : ` at ${issue.path.join('.')}`;
  throw new EphError('api.bad_request', `${what} is not valid${where}: ${issue?.message ?? 'unknown'}`);
};

/** Stops reading as soon as there is too much, whatever the length that was announced. */
const readBytes = async (request: Request, most: number): Promise<Uint8Array> => {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of (request.body ?? []) as AsyncIterable<Uint8Array>) {
    length += chunk.byteLength;
    if (length > most) throw new EphError('api.too_large', `the body has more than ${most} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};
