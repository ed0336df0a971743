import { redact } from '@eph/contract';
import { type Logger, pino } from 'pino';

/** Structured lines on standard output, with secrets redacted. */
export const createLog = (level: string): Logger =>
  pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime, hooks: { streamWrite: redact } });
