/** Undefined where the text is not JSON. */
export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // The only way to find out. No schema here accepts undefined.
    return undefined;
  }
};
