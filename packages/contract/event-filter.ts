import { type Event, type EventType, eventTypes } from './event.ts';
import type { EnvironmentId, ProjectId } from './ids.ts';

/** All that is given must match. An empty list matches nothing. */
export interface EventFilter {
  readonly environment?: EnvironmentId;
  /** With null among them, also events without a project. */
  readonly projects?: readonly (ProjectId | null)[];
  /** Types, or prefixes of types that end with a dot, such as `audit.`. */
  readonly types?: readonly string[];
  /** A part of the message. The case of ASCII letters does not matter. */
  readonly text?: string;
}

export const expandTypes = (types: readonly string[]): readonly EventType[] =>
  eventTypes.filter((type) => types.some((one) => (one.endsWith('.') ? type.startsWith(one) : type === one)));

export const createEventMatcher = ({ environment, projects, types, text }: EventFilter): ((event: Event) => boolean) => {
  const allowedTypes = types && new Set(expandTypes(types));
  const allowedProjects = projects && new Set(projects);
  const part = text && lowerAscii(text);
  return (event) =>
    (environment === undefined || event.environment === environment) &&
    (allowedProjects === undefined || allowedProjects.has(event.project)) &&
    (allowedTypes === undefined || allowedTypes.has(event.type)) &&
    (part === undefined || lowerAscii(event.message).includes(part));
};

/** As the databases do: SQLite knows no other letters. */
const lowerAscii = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
