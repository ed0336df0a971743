/** Undefined for text that is not JSON. */
export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    // Callers check the value anyway, and undefined passes no check.
    return undefined;
  }
};
