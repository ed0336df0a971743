/**
 * Time. Everything in the engine that looks at a watch or waits does it here, so that a test can turn the hands.
 *
 * Contract
 * - `now` is whole milliseconds since 1970 and may jump either way; nothing about correctness depends on it.
 * - `after` calls back once, not earlier than asked, unless cancelled first. Cancelling twice is harmless.
 * - `nextTurn` resolves after other work that waits for the thread had its turn. A long piece of work calls it in between.
 */
export interface Clock {
  now(): number;
  after(ms: number, callback: () => void): Cancel;
  nextTurn(): Promise<void>;
}

export type Cancel = () => void;
