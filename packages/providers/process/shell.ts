/** One word of a shell, whatever characters it has. */
export const quote = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;
