/**
 * The one place that strips secrets from text on its way to people: error messages, statuses, events and logs pass through it.
 * Shapes that are secret wherever they appear are matched here; values that are secret only here are registered.
 */
const shapes: readonly [RegExp, string][] = [
  [/\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@]*@/gi, '$1***@'],
  [/\b(authorization\s*[:=]\s*)(basic|bearer|token)\s+[^\s'"]+/gi, '$1$2 ***'],
  [/([?&](?:access_token|token|key|secret|signature|sig|password)=)[^&\s'"]+/gi, '$1***'],
  [/\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{20,}|glpat-[\w-]{16,})\b/g, '***'],
];

const registered = new Set<string>();

/** From now on this value appears nowhere. Short values are refused: they would blank out ordinary words. */
export const registerSecret = (value: string): void => {
  if (value.length >= 8) registered.add(value);
};

export const redact = (text: string): string => {
  let clean = text;
  for (const [shape, replacement] of shapes) clean = clean.replace(shape, replacement);
  for (const value of registered) clean = clean.replaceAll(value, '***');
  return clean;
};
