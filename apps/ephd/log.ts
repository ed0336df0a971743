import { redact, redactFields } from '@eph/contract';
import { type DestinationStream, type LogFn, type Logger, pino } from 'pino';

/** Structured lines on standard output, with secrets redacted in every field before it is printed. */
export const createLog = (level: string, destination: DestinationStream = pino.destination(1)): Logger =>
  pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      // It is serialized below, before it is redacted.
      serializers: { err: (error: unknown) => error },
      hooks: {
        logMethod(args, method) {
          const [first, ...rest] = args;
          const fields: unknown = first instanceof Error ? { err: first } : first;
          const message = first instanceof Error && rest.length === 0 ? [first.message] : rest;
          // The same kinds of arguments in the same order.
          method.apply(this, [redactArgument(fields), ...message.map(redactArgument)] as Parameters<LogFn>);
        },
      },
    },
    destination,
  );

/** For what must not depend on `log_level`; `silent` means nothing at all. */
export const createAuditLog = (log: Logger): Logger => (log.level === 'silent' ? log : log.child({}, { level: 'info' }));

const redactArgument = (argument: unknown): unknown => {
  if (typeof argument === 'string') return redact(argument);
  const isWithError = typeof argument === 'object' && argument !== null && 'err' in argument && argument.err instanceof Error;
  return redactFields(isWithError ? { ...argument, err: pino.stdSerializers.err(argument.err as Error) } : argument);
};
