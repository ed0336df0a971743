import { z } from 'zod';
import { createDocument, type ZodOpenApiOperationObject, type ZodOpenApiPathsObject } from 'zod-openapi';
import { permissions } from '../access/permissions.ts';
import { problemSchema, problemType } from './problem.ts';
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

const describeRoute = (name: string, { path, permission, summary, query, body, answer }: Route): ZodOpenApiOperationObject => {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, one = '']) => one);
  const { status, content } = describeAnswer(answer);
  return {
    operationId: name,
    summary,
    ...(permission === null ? { security: [] } : { description: describePermission(permission) }),
    requestParams: {
      ...(names.length > 0 && { path: z.object(Object.fromEntries(names.map((one) => [one, z.string().min(1)]))) }),
      ...(query && { query }),
    },
    ...(body && { requestBody: { required: true, content: describeBody(body) } }),
    responses: {
      [status]: { description: 'Done.', ...(content && { content }) },
      default: { description: 'What is wrong, and what to do.', content: { [problemType]: { schema: problem } } },
    },
  };
};

const problem = problemSchema.meta({ id: 'Problem' });

const describePermission = (permission: keyof typeof permissions): string => {
  const { role, scope } = permissions[permission];
  return `Takes \`${permission}\`: ${role === null ? 'everybody who is signed in' : `role ${role}`}, with a token of scope ${scope}.`;
};

const describeAnswer = (
  answer: AnswerShape,
): { status: '101' | '200' | '201' | '202' | '204'; content?: Record<string, { schema: z.ZodType }> } => {
  switch (answer.type) {
    case 'json':
      return { status: `${answer.status}`, content: { 'application/json': { schema: answer.schema } } };
    case 'stream':
      return { status: '200', content: { 'text/event-stream': { schema: z.string() } } };
    case 'text':
      return { status: '200', content: { [answer.contentType]: { schema: z.string() } } };
    case 'none':
      return { status: '204' };
    case 'exec':
      return { status: '101' };
  }
};

const describeBody = (body: BodyShape): Record<string, { schema: z.ZodType }> =>
  body.type === 'json' ? { 'application/json': { schema: body.schema } } : { [body.contentType]: { schema: z.string() } };
