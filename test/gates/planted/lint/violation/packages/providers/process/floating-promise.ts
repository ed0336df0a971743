const stop = async (): Promise<void> => {
  await Promise.resolve();
};

export const restart = (): void => {
  stop();
};
