// TODO: retry
export const attempts = 1;
