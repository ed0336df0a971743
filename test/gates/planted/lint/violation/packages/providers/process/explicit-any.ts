export const portOf = (value: any): string => String(value);
