import type { Port } from './port.ts';

export const unnamed: Port = { number: 80, name: undefined };
