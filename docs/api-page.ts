import { permissions, type Route, routes } from '@eph/contract';
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
  const { method, path, summary, permission, target, query } = route;
  const parameters = Object.entries(query?.shape ?? {}).map(([name, schema]) => `- \`${name}\`: ${describe(schema)}`);
  const role = permission === null ? null : permissions[permission].role;
  const who =
    permission === null
      ? 'Needs no token.'
      : `Needs \`${permission}\`: ${role === null ? 'everybody with a token' : `role ${role}${target === 'all' ? ' in every project' : ''}`}.`;
  const list = parameters.length === 0 ? '' : `\n${parameters.join('\n')}\n`;
  return `## \`${method} ${path}\`\n\n${summary}\n\n${who}\n${list}`;
};

const describe = (schema: unknown): string => {
  const text = schema instanceof z.ZodType ? schema.description : undefined;
  if (text === undefined) throw new Error('a parameter of the API has no description');
  return text;
};
