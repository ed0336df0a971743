/**
 * The one place that removes secrets from text for people: error messages, statuses, events and logs pass through it.
 * Patterns match what always is a secret, such as a token; secret values of this installation are registered. No pattern
 * crosses a quotation mark: it would swallow the next field.
 */
const patterns: readonly [RegExp, string][] = [
  [/(:\/\/)[^\s/"'`]*@/g, '$1***@'],
  [/(authorization["']?\s*[:=]\s*["']?)(basic|bearer|token)\s+[^\s'"`]+/gi, '$1$2 ***'],
  [/([?&][^=&?\s"'`]*(?:token|key|secret|signature|sig|password)=)[^&\s'"`]+/gi, '$1***'],
  [/gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{20,}|glpat-[\w-]{16,}|ephs?_[\w-]{20,}[\w.-]*/g, '***'],
];

/** Shorter ones would blank out ordinary words. */
const shortest = 8;

/** Every form of every secret, by the hash of its beginning. Longest first: of two, one may begin with the other. */
const forms = new Map<number, readonly string[]>();
const registered = new Set<string>();

/** Whether some form begins so. One pass over a text asks this at every place, whatever the number of secrets. */
const beginnings = new Uint8Array(1 << 16);

const hashAt = (text: string, at: number): number =>
  (text.charCodeAt(at) ^ (text.charCodeAt(at + 1) << 5) ^ (text.charCodeAt(at + 2) << 9)) & 0xffff;

/**
 * From now on this value is redacted, as it is and as JSON, addresses and Base64 write it. Of a value with several lines
 * each line is, because logs and errors show lines. Short values are ignored.
 */
export const registerSecret = (value: string): void => {
  if (value.length < shortest || registered.has(value)) return;
  registered.add(value);
  const lines = value.split(/\r?\n/).map((line) => line.trim());
  // The first and last line of a key in PEM are the same in all of them.
  const secrets = [value, ...lines.filter((line) => !/^-----[\w ]+-----$/.test(line))];
  for (const form of [...secrets.flatMap(writtenForms), ...base64Forms(value)]) addForm(form);
};

const addForm = (form: string): void => {
  const hash = hashAt(form, 0);
  const others = forms.get(hash) ?? [];
  if (form.length < shortest || others.includes(form)) return;
  forms.set(
    hash,
    [...others, form].toSorted((a, b) => b.length - a.length),
  );
  beginnings[hash] = 1;
};

const writtenForms = (value: string): readonly string[] => {
  const encoded = encodeURIComponent(value.toWellFormed());
  return [value, JSON.stringify(value).slice(1, -1), encoded, encoded.replaceAll('%20', '+')];
};

/** Inside a longer text, the Base64 of a value depends on where it begins, modulo three; its ends are shared with what is around. */
const base64Forms = (value: string): readonly string[] => {
  const bytes = Array.from(new TextEncoder().encode(value), (byte) => String.fromCharCode(byte)).join('');
  return [0, 1, 2].flatMap((before) => {
    const all = btoa('\0'.repeat(before) + bytes);
    const form = all.slice(Math.ceil((before * 4) / 3), Math.floor(((before + bytes.length) * 4) / 3));
    return [form, form.replaceAll('+', '-').replaceAll('/', '_')];
  });
};

export const redact = (text: string): string => {
  let clean = text;
  for (const [pattern, replacement] of patterns) clean = clean.replace(pattern, replacement);
  return forms.size === 0 ? clean : redactForms(clean);
};

const redactForms = (text: string): string => {
  let clean = '';
  let copied = 0;
  for (let at = 0; at <= text.length - shortest; at += 1) {
    const hash = hashAt(text, at);
    const form = beginnings[hash] === 1 ? forms.get(hash)?.find((one) => text.startsWith(one, at)) : undefined;
    if (form === undefined) continue;
    clean += `${text.slice(copied, at)}***`;
    copied = at + form.length;
    at = copied - 1;
  }
  return copied === 0 ? text : clean + text.slice(copied);
};

const secretName = /(?:^|[-_.])(?:authorization|cookie|password|passwd|secret|token|(?:private|api)[-_]?key)$/i;
const deepest = 8;

/**
 * The same for data, field by field, before it is printed: in one long text a secret may be escaped, and a pattern may end
 * in another field. A field with the name of a secret is one.
 */
export const redactFields = (value: unknown, depth = 0): unknown => {
  if (typeof value === 'string' || value instanceof URL) return redact(String(value));
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  if (depth === deepest) return '…';
  if (Array.isArray(value)) return value.map((item) => redactFields(item, depth + 1));
  // What an error says is not among its own enumerable fields.
  const own = value instanceof Error ? { message: value.message, stack: value.stack } : {};
  return Object.fromEntries(
    [...Object.entries(own), ...Object.entries(value)].map(([key, item]: [string, unknown]) => [
      redact(key),
      typeof item === 'string' && secretName.test(key) ? '***' : redactFields(item, depth + 1),
    ]),
  );
};
