import type { ChoiceQuestion, Prompter, TextQuestion } from './prompter.ts';

/** Has answers to some questions and accepts the proposal for the others. */
export interface ScriptedPrompter extends Prompter {
  readonly questions: readonly string[];
}

/** @param answers by a part of the question */
export const scriptAnswers = (answers: Readonly<Record<string, string | readonly string[] | boolean>> = {}): ScriptedPrompter => {
  const questions: string[] = [];
  const answerTo = (message: string): string | readonly string[] | boolean | undefined => {
    questions.push(message);
    return Object.entries(answers).find(([part]) => message.includes(part))?.[1];
  };
  const among = ({ choices }: ChoiceQuestion, value: string): string => {
    if (choices.some((choice) => choice.value === value)) return value;
    throw new Error(`${JSON.stringify(value)} is not offered, only ${JSON.stringify(choices)}`);
  };
  const fit = ({ validate }: TextQuestion, value: string): string => {
    const fault = validate?.(value);
    if (fault === undefined) return value;
    throw new Error(`${JSON.stringify(value)} is refused: ${fault}`);
  };
  return {
    questions,
    text: async (question) => fit(question, String(answerTo(question.message) ?? question.proposal)),
    choose: async (question) => among(question, String(answerTo(question.message) ?? question.choices[0]?.value)),
    chooseSeveral: async (question) => {
      const all = question.choices.map(({ value }) => value);
      return ((answerTo(question.message) ?? all) as readonly string[]).map((value) => among(question, value));
    },
    confirm: async (message) => answerTo(message) !== false,
    secret: async (message) => String(answerTo(message) ?? ''),
  };
};
