import { redact } from '@eph/contract';
import { type Logger, pino } from 'pino';

/** Structured lines on standard output; every one of them passes the choke point for secrets. */
export const createLog = (level: string): Logger =>
  pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime, hooks: { streamWrite: redact } });
