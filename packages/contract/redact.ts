/**
 * The one place that strips secrets from text on its way to people: error messages, statuses, events and logs pass through it.
 * Shapes that are secret wherever they appear are matched here; values that are secret only here are registered.
 */
const shapes: readonly [RegExp, string][] = [
  [/(:\/\/)[^\s/]*@/g, '$1***@'],
  [/(authorization["']?\s*[:=]\s*["']?)(basic|bearer|token)\s+[^\s'"]+/gi, '$1$2 ***'],
  [/([?&][^=&?\s]*(?:token|key|secret|signature|sig|password)=)[^&\s'"]+/gi, '$1***'],
  [/gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{20,}|glpat-[\w-]{16,}/g, '***'],
];

/** Longest first: of two secrets, one may begin with the other. */
let registered: readonly string[] = [];

/** From now on this value appears nowhere. Short values are refused: they would blank out ordinary words. */
export const registerSecret = (value: string): void => {
  if (value.length < 8 || registered.includes(value)) return;
  registered = [...registered, value].toSorted((a, b) => b.length - a.length);
};

export const redact = (text: string): string => {
  let clean = text;
  for (const [shape, replacement] of shapes) clean = clean.replace(shape, replacement);
  for (const value of registered) clean = clean.replaceAll(value, '***');
  return clean;
};
