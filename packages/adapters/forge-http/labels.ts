/** The labels of pull requests. Everything throws `EphError`. */
export interface Labels {
  labelledAt(number: number, label: string, signal: AbortSignal): Promise<string | undefined>;
  add(number: number, label: string, signal: AbortSignal): Promise<void>;
  remove(number: number, label: string, signal: AbortSignal): Promise<void>;
}
