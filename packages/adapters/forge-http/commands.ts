import { type CommitSha, completeReading, incompleteReading, type Reading } from '@eph/contract';
import type { Command } from '@eph/engine/source/pulls';
import type { Answer } from './answer.ts';
import type { Listing } from './read-pages.ts';

export interface CommandComment<Person> {
  readonly id: number;
  readonly body: string;
  readonly at: string;
  readonly author: string;
  /** Undefined for a deleted account. */
  readonly person: Person | undefined;
}

export interface CommandReads<Person> {
  readonly comments: Listing<CommandComment<Person>>;
  /** The head of the pull request when each comment was written; null if unknown. */
  readonly readHeads: (
    comments: readonly CommandComment<Person>[],
  ) => Promise<Answer<(comment: CommandComment<Person>) => CommitSha | null>>;
  readonly readWriters: (people: readonly Person[]) => Promise<Answer<ReadonlySet<Person>>>;
}

/** As `Pulls.commands`. Without commands nothing but the comments is read. */
export const computeCommands = async <Person>(reads: CommandReads<Person>): Promise<Reading<Command>> => {
  const { comments, readHeads, readWriters } = reads;
  if (!comments.complete) return incompleteReading([], comments.refusal.fault);
  const commands = comments.items.filter((comment) => firstLine(comment).startsWith('/'));
  if (commands.length === 0) return completeReading([]);
  const people = commands.flatMap(({ person }) => person ?? []);
  const [heads, writers] = await Promise.all([readHeads(commands), readWriters(people)]);
  if (!heads.ok) return incompleteReading([], heads.fault);
  if (!writers.ok) return incompleteReading([], writers.fault);
  return completeReading(
    commands.map((comment) => ({
      id: String(comment.id),
      text: firstLine(comment),
      author: comment.author,
      mayWrite: comment.person !== undefined && writers.value.has(comment.person),
      at: comment.at,
      commit: heads.value(comment),
    })),
  );
};

const firstLine = ({ body }: { readonly body: string }): string => (body.split(/\r?\n/, 1)[0] ?? '').trim();

/** Those who may write to the repository now; one request each. */
export const filterWriters = async <Person>(
  people: Iterable<Person>,
  mayWrite: (person: Person) => Promise<Answer<boolean>>,
): Promise<Answer<ReadonlySet<Person>>> => {
  const writers = new Set<Person>();
  const ask = async (person: Person): Promise<Answer<boolean>> => {
    const answer = await mayWrite(person);
    if (answer.ok && answer.value) writers.add(person);
    return answer;
  };
  const answers = await Promise.all([...new Set(people)].map(ask));
  return answers.find((answer) => !answer.ok) ?? { ok: true, value: writers };
};
