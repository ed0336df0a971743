export const same = (value) => value;
