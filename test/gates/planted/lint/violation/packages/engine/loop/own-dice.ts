export const jitter = (ms: number): number => ms * Math.random();
