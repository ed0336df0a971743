import { permissions, type Route, routes } from '@eph/contract';
import { problemsOf } from '@eph/contract/open-api';
import { z } from 'zod';

const introduction = `# The API

Everything that \`eph\` does, it does with this API. \`GET /openapi.json\` describes it as OpenAPI 3.1, with the shapes of
all answers. How to get in is in [ephd](ephd.md#api).

- \`{id}\` is the id, the name or the alias of an environment.
- Streams are server-sent events, one JSON value each. [Streams](ephd.md#streams) says how they resume and end.
- Errors are \`application/problem+json\`: \`code\` is stable, \`detail\` is for people, \`hint\` says what to do, and
  \`requestId\` is in the log of ephd.
`;

/** The reference of the API, from its routes. */
export const renderApiPage = (): string => [introduction, ...Object.values<Route>(routes).map(renderRoute)].join('\n');

const renderRoute = (route: Route): string => {
  const { method, path, summary, query, body, etag } = route;
  const parameters = listFields(query?.shape ?? {});
  const statuses = `Answers ${statusOf(route)}${etag ? ', 304' : ''}, or ${problemsOf(route)
    .toSorted((a, b) => a - b)
    .join(', ')}.`;
  const paragraphs = [`## \`${method} ${path}\``, summary, `${describeAccess(route)}\n${statuses}`];
  if (parameters !== '') paragraphs.push(`Its query:\n\n${parameters}`);
  if (body?.type === 'bytes') paragraphs.push(`Its body is \`${body.contentType}\`, at most ${body.most} bytes.`);
  if (body?.type === 'json') paragraphs.push(`Its body is JSON:\n\n${listFields(fieldsOf(body.schema))}`);
  return `${paragraphs.join('\n\n')}\n`;
};

const describeAccess = ({ permission, target }: Route): string => {
  if (permission === null) return 'Needs no token.';
  const { role, scope } = permissions[permission];
  const who = role === null ? 'everybody' : `role ${role}${target === 'all' ? ' in every project' : ''}`;
  return `Needs \`${permission}\`: ${who}, with a token of scope ${scope}.`;
};

const statusOf = ({ answer }: Route): number => {
  const statuses = { stream: 200, text: 200, page: 200, none: 204, exec: 101, port: 101 } as const;
  return answer.type === 'json' ? answer.status : statuses[answer.type];
};

const fieldsOf = (schema: z.ZodType): Readonly<Record<string, unknown>> => {
  if (schema instanceof z.ZodObject) return schema.shape;
  throw new Error('a body of the API is not an object');
};

const listFields = (fields: Readonly<Record<string, unknown>>): string =>
  Object.entries(fields)
    .map(([name, schema]) => `- \`${name}\`: ${describe(schema)}`)
    .join('\n');

const describe = (schema: unknown): string => {
  const text = schema instanceof z.ZodType ? schema.description : undefined;
  if (text === undefined) throw new Error('a field of a query or a body of the API has no description');
  return text;
};
