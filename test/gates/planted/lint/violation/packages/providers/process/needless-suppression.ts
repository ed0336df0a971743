// oxlint-disable-next-line no-console
export const quiet = true;
