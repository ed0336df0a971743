/** Where the provider tells its operator what happens; pino fits. */
export interface Log {
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
}

export const silentLog: Log = { info: () => undefined, warn: () => undefined };
