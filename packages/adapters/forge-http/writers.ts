import type { Answer } from './answer.ts';

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
