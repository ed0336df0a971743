import { EphError, type ErrorCode, type Failure, failure, isEphError, toFailure } from '@eph/contract';
import { parseRetryAfter } from './budget.ts';

/**
 * What an unsuccessful answer means for the caller.
 * - `gone`: the forge says that it does not exist. Only this may be taken as absence.
 * - `refused`: the forge denies access; a person must act.
 * - `retry`: the forge fails or asks for a pause.
 * - `incomplete`: the answer is invalid; nothing may be concluded from it.
 */
export type Meaning = 'gone' | 'refused' | 'retry' | 'incomplete';

export type Answer<T> = { readonly ok: true; readonly value: T } | Refusal;

export interface Refusal {
  readonly ok: false;
  readonly meaning: Meaning;
  readonly fault: Failure;
}

/** One rule of an adapter's table of statuses. The first match counts. */
export interface AnswerRule {
  readonly status: number | readonly [first: number, last: number];
  readonly when?: ((answer: ReceivedAnswer) => boolean) | undefined;
  readonly meaning: Meaning;
  readonly code: ErrorCode;
  /** Without variable parts: a new text looks like a new failure. `shown` is the repository. */
  readonly message: (shown: string) => string;
}

export type AnswerTable = readonly AnswerRule[];

export const ruleOf =
  (meaning: Meaning, code: ErrorCode) =>
  (status: AnswerRule['status'], message: AnswerRule['message'], when?: AnswerRule['when']): AnswerRule => ({
    status,
    when,
    meaning,
    code,
    message,
  });

export const gone = ruleOf('gone', 'forge.unreachable');
export const refused = ruleOf('refused', 'forge.refused');
export const retry = ruleOf('retry', 'forge.unreachable');
export const incomplete = ruleOf('incomplete', 'forge.incomplete');

export interface ReceivedAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

export const classifyAnswer = (table: AnswerTable, answer: ReceivedAnswer, shown: string, now: number): Refusal => {
  const rule = table.find(({ status, when }) => covers(status, answer.status) && (when === undefined || when(answer)));
  if (rule === undefined) return invalidAnswer(`${shown}: the forge answered with unexpected status ${answer.status}.`);
  const { meaning, code, message } = rule;
  return { ok: false, meaning, fault: failure(code, message(shown), parseRetryAfter(answer.headers, now)) };
};

const covers = (status: AnswerRule['status'], seen: number): boolean =>
  typeof status === 'number' ? status === seen : seen >= status[0] && seen <= status[1];

export const invalidAnswer = (message: string): Refusal => ({
  ok: false,
  meaning: 'incomplete',
  fault: failure('forge.incomplete', message),
});

export const noAnswer = (error: unknown, signal: AbortSignal): Refusal => {
  if (signal.aborted && !isEphError(error)) return invalidAnswer('The reading was aborted.');
  return { ok: false, meaning: 'retry', fault: toFailure(error) };
};

/** Asks until there is an answer, and then not again. */
export const onceAnswered = <T>(ask: (signal: AbortSignal) => Promise<Answer<T>>): typeof ask => {
  let answer: Answer<T> | undefined;
  return async (signal) => {
    if (answer?.ok !== true) answer = await ask(signal);
    return answer;
  };
};

export const unwrap = <T>(answer: Answer<T>): T => {
  if (answer.ok) return answer.value;
  throw toError(answer);
};

export const toError = ({ fault: { code, message, retryAfterMs } }: Refusal): EphError =>
  new EphError(code, message, { retryAfterMs });
