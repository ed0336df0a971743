/** The log of ephd's parts: a constant message, with the facts as fields. Passed in, never imported. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export const silentLog: Log = { debug: () => {}, info: () => {}, warn: () => {} };
