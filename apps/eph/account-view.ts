import type { AccountView } from '@eph/contract';
import { formatTime } from './figures.ts';
import type { Output } from './output.ts';
import { safeLine } from './safe-text.ts';

export const describePerson = (person: string | null): string => person ?? 'the administrator of the machine of ephd';

export const describeProjects = (projects: readonly string[] | null): string =>
  projects === null ? 'all that the rules give' : projects.join(', ');

export const accountFacts = ({ person, scope, projects, expiresAt, tokenId }: AccountView): readonly Fact[] => [
  ['person', describePerson(person)],
  ['scope', scope],
  ['projects', describeProjects(projects)],
  ['expires', expiresAt === null ? '' : formatTime(expiresAt)],
  ['token id', tokenId ?? ''],
];

export type Fact = readonly [noun: string, value: string];

/** Those without a value are left out. */
export const renderFacts = (out: Output, facts: readonly Fact[]): string[] =>
  facts.filter(([, value]) => value !== '').map(([noun, value]) => `${out.paint('faint', noun.padEnd(8))}  ${safeLine(value)}`);
