export const systemClock = {
  now: (): number => Date.now(),
  after: (ms: number, callback: () => void): (() => void) => {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};
