/**
 * The one place that removes secrets from text for people: error messages, statuses, events and logs pass through it.
 * Patterns match what always is a secret, such as a token; secret values of this installation are registered.
 */
const patterns: readonly [RegExp, string][] = [
  [/(:\/\/)[^\s/]*@/g, '$1***@'],
  [/(authorization["']?\s*[:=]\s*["']?)(basic|bearer|token)\s+[^\s'"]+/gi, '$1$2 ***'],
  [/([?&][^=&?\s]*(?:token|key|secret|signature|sig|password)=)[^&\s'"]+/gi, '$1***'],
  [/gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{20,}|glpat-[\w-]{16,}/g, '***'],
];

/** Longest first: of two secrets, one may begin with the other. */
let registered: readonly string[] = [];

/** From now on this value is redacted. Short values are ignored: they would blank out ordinary words. */
export const registerSecret = (value: string): void => {
  if (value.length < 8 || registered.includes(value)) return;
  registered = [...registered, value].toSorted((a, b) => b.length - a.length);
};

export const redact = (text: string): string => {
  let clean = text;
  for (const [pattern, replacement] of patterns) clean = clean.replace(pattern, replacement);
  for (const value of registered) clean = clean.replaceAll(value, '***');
  return clean;
};
