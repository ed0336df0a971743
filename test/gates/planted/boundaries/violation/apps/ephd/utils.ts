export const anything = true;
