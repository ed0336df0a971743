import { EphError, type ErrorCode, type Failure, failure, isEphError, toFailure } from '@eph/contract';
import { parseRetryAfter } from './budget.ts';

/**
 * What an answer other than success means for whoever asked.
 * - `gone`: what was asked for does not exist, by the forge's own word. The only one from which absence may be concluded.
 * - `refused`: the forge does not let us; a person must act.
 * - `retry`: the forge is in trouble or wants a pause.
 * - `incomplete`: the answer makes no sense; nothing follows from it.
 */
export type Meaning = 'gone' | 'refused' | 'retry' | 'incomplete';

export type Answer<T> = { readonly ok: true; readonly value: T } | Refusal;

export interface Refusal {
  readonly ok: false;
  readonly meaning: Meaning;
  readonly fault: Failure;
}

/** One line of the table in which an adapter says what every status of its forge means. The first that fits counts. */
export interface AnswerRule {
  readonly status: number | readonly [first: number, last: number];
  /** Only answers with such headers. */
  readonly when?: (headers: Headers) => boolean;
  readonly meaning: Meaning;
  readonly code: ErrorCode;
  /** Without anything that varies from answer to answer: a new text looks like a new failure. `shown` is the repository. */
  readonly message: (shown: string) => string;
}

export type AnswerTable = readonly AnswerRule[];

export interface UnsuccessfulAnswer {
  readonly status: number;
  readonly headers: Headers;
}

export const classifyAnswer = (table: AnswerTable, answer: UnsuccessfulAnswer, shown: string, now: number): Refusal => {
  const rule = table.find(({ status, when }) => covers(status, answer.status) && (when === undefined || when(answer.headers)));
  if (rule === undefined) return invalidAnswer(`${shown}: the forge answered with the unexpected status ${answer.status}.`);
  const { meaning, code, message } = rule;
  return { ok: false, meaning, fault: failure(code, message(shown), parseRetryAfter(answer.headers, now)) };
};

const covers = (status: AnswerRule['status'], seen: number): boolean =>
  typeof status === 'number' ? status === seen : seen >= status[0] && seen <= status[1];

/** An answer from which nothing follows. */
export const invalidAnswer = (message: string): Refusal => ({
  ok: false,
  meaning: 'incomplete',
  fault: failure('forge.incomplete', message),
});

/** Whatever kept an answer from coming. */
export const noAnswer = (error: unknown, signal: AbortSignal): Refusal => {
  if (signal.aborted && !isEphError(error)) return invalidAnswer('The reading was stopped before it was finished.');
  return { ok: false, meaning: 'retry', fault: toFailure(error) };
};

export const unwrap = <T>(answer: Answer<T>): T => {
  if (answer.ok) return answer.value;
  throw toError(answer);
};

export const toError = ({ fault: { code, message, retryAfterMs } }: Refusal): EphError =>
  new EphError(code, message, retryAfterMs === undefined ? {} : { retryAfterMs });
