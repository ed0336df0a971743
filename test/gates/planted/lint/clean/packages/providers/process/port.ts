import type { Stats } from 'node:fs';

type State = 'free' | 'taken';

export const parsePort = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // A half-written file is the same as none: the next pass writes it again.
    return undefined;
  }
};

export const describePort = (port: number, state: State): string => {
  switch (state) {
    case 'free':
      return `Port ${port} is free.`;
    case 'taken':
      return `Port ${port} is taken.`;
  }
};

export const sizeOf = (stats: Stats): number => stats.size;

export const readPath = (): string => process.env['PATH'] ?? '';
