/** Puts questions to a person. Whoever does not want to answer any more ends the command: the promise is rejected with a `CommandFailure`. */
export interface Prompter {
  text(question: TextQuestion): Promise<string>;
  choose(question: ChoiceQuestion): Promise<string>;
  /** At least one. */
  chooseSeveral(question: ChoiceQuestion): Promise<readonly string[]>;
  confirm(message: string): Promise<boolean>;
}

export interface TextQuestion {
  readonly message: string;
  /** The answer of somebody who only presses Enter. */
  readonly proposal: string;
  /** Why an answer will not do; undefined when it will. */
  readonly refuse?: (answer: string) => string | undefined;
}

export interface ChoiceQuestion {
  readonly message: string;
  /** The first is proposed; of several, all are. */
  readonly choices: readonly Choice[];
}

export interface Choice {
  readonly value: string;
  readonly label: string;
  readonly hint?: string;
}
