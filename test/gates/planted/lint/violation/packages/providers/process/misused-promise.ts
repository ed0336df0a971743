export const stopAll = (stops: readonly (() => Promise<void>)[]): void => {
  stops.forEach(async (stop) => {
    await stop();
  });
};
