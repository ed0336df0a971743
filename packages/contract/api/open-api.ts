import { z } from 'zod';
import {
  createDocument,
  createSchema,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathsObject,
  type ZodOpenApiResponseObject,
} from 'zod-openapi';
import { permissions } from '../access/permissions.ts';
import { tokenId } from '../access/token.ts';
import { endSchema, type ProblemStatus, problemSchema, problemTitles, problemType } from './problem.ts';
import type { AnswerShape, BodyShape, Route } from './route.ts';
import { routes } from './routes.ts';

/** The API as an OpenAPI 3.1 document. */
export const createOpenApi = (version: string): Record<string, unknown> => {
  const paths: ZodOpenApiPathsObject = {};
  for (const [name, route] of Object.entries(routes) as [string, Route][])
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: describeRoute(name, route) };
  return createDocument({
    openapi: '3.1.0',
    info: { title: 'Eph', version, description: 'Temporary environments from Git. Every call is answered by ephd.' },
    components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
    security: [{ token: [] }],
    paths,
  }) as unknown as Record<string, unknown>;
};

const describeRoute = (name: string, route: Route): ZodOpenApiOperationObject => {
  const { path, permission, summary, query, body, answer, etag } = route;
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, one = '']) => one);
  const { status, content } = describeAnswer(answer);
  const headers = z.object({ ...requestIdHeader, ...(etag && { etag: z.string() }) });
  return {
    operationId: name,
    summary,
    ...(permission === null ? { security: [] } : { description: describePermission(permission, route.target) }),
    requestParams: {
      ...(names.length > 0 && { path: z.object(Object.fromEntries(names.map((one) => [one, pathValues[one] ?? anyName]))) }),
      ...(query && { query }),
      ...(etag && { header: taggedHeaders }),
      ...(answer.type === 'stream' && { header: streamHeaders }),
    },
    // A file may be empty; ephd says then what is missing in it.
    ...(body && { requestBody: { required: body.type === 'json', content: describeBody(body) } }),
    responses: {
      [status]: { description: 'Done.', headers, ...(content && { content }) },
      ...(etag && { 304: { description: 'The answer is the one with this tag.', headers } }),
      ...Object.fromEntries(problemsOf(route).map((one) => [one, problemResponses.get(one)])),
    },
  };
};

const anyName = z.string().min(1);
const pathValues: Readonly<Record<string, z.ZodType>> = { token: tokenId };

const taggedHeaders = z.object({ 'if-none-match': z.string().optional().describe('The `etag` of an answer that you have.') });
const streamHeaders = z.object({
  'last-event-id': z
    .string()
    .regex(/^([0-9]{16})?$/)
    .optional()
    .describe('Go on after this event.'),
});
const requestIdHeader = { 'x-request-id': z.string().describe('Names this request in the log of ephd.') };

const problem = problemSchema.meta({ id: 'Problem' });

const problemResponses = new Map(
  Object.entries(problemTitles).map(([status, title]): [ProblemStatus, ZodOpenApiResponseObject] => [
    Number(status) as ProblemStatus,
    {
      id: `Problem${status}`,
      description: `${title}: what is wrong, and what to do.`,
      headers: z.object(requestIdHeader),
      content: { [problemType]: { schema: problem } },
    },
  ]),
);

/** What a route may answer instead. 405 is not among them: it answers methods that a path does not have. */
export const problemsOf = ({ permission, target, body, audit, slow, problems = [] }: Route): readonly ProblemStatus[] => [
  400,
  403,
  429,
  ...(permission === null ? [] : ([401, 404, 503] as const)),
  ...(target === 'environment' || audit === 'change' || slow ? ([409] as const) : []),
  ...(body ? ([413] as const) : []),
  ...(slow ? ([502] as const) : []),
  ...problems,
];

const describePermission = (permission: keyof typeof permissions, target: Route['target']): string => {
  const { role, scope } = permissions[permission];
  const who = role === null ? 'everybody who is signed in' : `role ${role}${target === 'all' ? ' in every project' : ''}`;
  return `Takes \`${permission}\`: ${who}, with a token of scope ${scope}.`;
};

const describeAnswer = (
  answer: AnswerShape,
): { status: '101' | '200' | '201' | '202' | '204'; content?: Record<string, { schema: z.ZodType }> } => {
  switch (answer.type) {
    case 'json':
      return { status: `${answer.status}`, content: { 'application/json': { schema: answer.schema } } };
    case 'stream':
      return { status: '200', content: { 'text/event-stream': { schema: describeEvents(answer.schema) } } };
    case 'text':
      return { status: '200', content: { [answer.contentType]: { schema: z.string() } } };
    case 'page':
      return { status: '200', content: { 'text/html; charset=utf-8': { schema: z.string() } } };
    case 'none':
      return { status: '204' };
    case 'exec':
    case 'port':
      return { status: '101' };
  }
};

/** One server-sent event. OpenAPI 3.1 has no words for a stream of them; tools read the schema as that of each. */
const describeEvents = (schema: z.ZodType): z.ZodType =>
  z.union([
    z.object({ event: z.literal('message').optional(), id: z.string().optional(), data: jsonText(schema) }),
    z.object({ event: z.literal('end'), data: jsonText(endSchema) }).describe('The last one, if ephd ends the stream.'),
  ]);

const jsonText = (schema: z.ZodType): z.ZodType =>
  z.string().meta({
    override: { type: 'string', contentMediaType: 'application/json', contentSchema: createSchema(schema).schema },
  });

const describeBody = (body: BodyShape): Record<string, { schema: z.ZodType }> =>
  body.type === 'json' ? { 'application/json': { schema: body.schema } } : { [body.contentType]: { schema: z.unknown() } };
