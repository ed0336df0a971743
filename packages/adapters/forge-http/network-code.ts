/** Why no answer came. Only the code: messages contain ports and times, so every failure would look like a new one. */
export const networkCode = (error: unknown): string | undefined => {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if ('code' in at && typeof at.code === 'string') return at.code;
  }
  return undefined;
};
