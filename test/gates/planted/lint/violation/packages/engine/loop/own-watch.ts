export const age = (since: number): number => Date.now() - since;
