/** Prompts a person for answers. When the person cancels, the promise is rejected with a `CommandFailure`. */
export interface Prompter {
  text(question: TextQuestion): Promise<string>;
  choose(question: ChoiceQuestion): Promise<string>;
  chooseSeveral(question: ChoiceQuestion): Promise<readonly string[]>;
  confirm(message: string): Promise<boolean>;
  /** What is typed is not shown. */
  secret(message: string): Promise<string>;
}

export interface TextQuestion {
  readonly message: string;
  /** The answer if the person only presses Enter. */
  readonly proposal: string;
  /** Why an answer is invalid; undefined when it is valid. */
  readonly validate?: (answer: string) => string | undefined;
}

export interface ChoiceQuestion {
  readonly message: string;
  /** The first is preselected; of several, all are. */
  readonly choices: readonly Choice[];
}

export interface Choice {
  readonly value: string;
  readonly label: string;
  readonly hint?: string;
}
