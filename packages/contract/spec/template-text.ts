/**
 * How a text names what is put into it later.
 * - `braces`: `{name}` and nothing else. Every brace means something, because no name, tag or path can hold one.
 * - `dollar`: `${NAME}`, `${NAME:-default}` and `$${` for the text `${`. Braces alone are text: values hold JSON.
 * - `both`: both of them, for commands. Braces alone mean something only around a word (`{print $1}` and `{}` are text), and
 *   `{{word}}` is the text `{word}`.
 */
export type TemplateSyntax = 'braces' | 'dollar' | 'both';

/** `:0:7`, as shells read it: so many characters from there on. */
export type Slice = {
  readonly start: number;
  readonly length: number;
};

export interface Placeholder {
  readonly written: string;
  readonly name: string;
  readonly slice?: Slice | undefined;
  /** Used when there is no value, or an empty one. */
  readonly fallback?: string | undefined;
}

export type TemplateText =
  | { readonly ok: true; readonly parts: readonly (string | Placeholder)[] }
  | { readonly ok: false; readonly fault: string };

/** One walk from the left, whatever the text: what is put in later is never looked at again. */
export const parseTemplateText = (text: string, syntax: TemplateSyntax): TemplateText => {
  const parts: (string | Placeholder)[] = [];
  let from = 0;
  for (let at = nextMark(text, 0); at < text.length; at = nextMark(text, from)) {
    const step = readMark(text, at, syntax);
    if ('fault' in step) return { ok: false, fault: step.fault };
    if (at > from) parts.push(text.slice(from, at));
    parts.push(step.part);
    from = step.end;
  }
  if (from < text.length) parts.push(text.slice(from));
  return { ok: true, parts };
};

type Step = { readonly part: string | Placeholder; readonly end: number } | { readonly fault: string };

const mark = /\$\$\{|\$\{|[{}]/g;

const nextMark = (text: string, from: number): number => {
  mark.lastIndex = from;
  return mark.exec(text)?.index ?? text.length;
};

const readMark = (text: string, at: number, syntax: TemplateSyntax): Step => {
  if (text[at] === '$') return syntax === 'braces' ? refuseDollar(text, at) : readDollar(text, at);
  if (syntax === 'dollar') return { part: text.slice(at, at + 1), end: at + 1 };
  return syntax === 'braces' ? readBrace(text, at) : readWord(text, at);
};

const refuseDollar = (text: string, at: number): Step => {
  const written = showTemplate(text.slice(at, closing(text, at) + 1));
  return {
    fault: `${written}: variables of the server cannot be used here; a variable of the template is written without the $`,
  };
};

const readDollar = (text: string, at: number): Step => {
  if (text.startsWith('$${', at)) return { part: '${', end: at + 3 };
  const end = closing(text, at);
  if (end === text.length) return { fault: `${showTemplate(text.slice(at))} is not closed by a }; ${howToDollar}` };
  const written = text.slice(at, end + 1);
  const body = written.slice(2, -1);
  const [, name, slice, fallback] = /^([A-Za-z_]\w*)(?:(:\d[\d:]*)|:-([^]*))?$/.exec(body) ?? [];
  if (name === undefined) return { fault: `${showTemplate(written)} is not a variable; ${howToDollar}` };
  // The end of a default with braces in it could not be told from the end of the variable.
  if (fallback?.includes('{') === true)
    return { fault: `${showTemplate(written)}: a default is plain text, without { and without } in it` };
  return withSlice({ written, name, fallback }, slice, end + 1);
};

const howToDollar = 'write ${NAME} or ${NAME:-default}, and $${ for the text ${';

const readBrace = (text: string, at: number): Step => {
  if (text[at] === '}')
    return { fault: `there is a } without a { before it: ${showTemplate(text.slice(Math.max(0, at - 20), at + 1))}` };
  const end = closing(text, at);
  if (end === text.length) return { fault: `${showTemplate(text.slice(at))} is not closed by a }` };
  const written = text.slice(at, end + 1);
  if (written.includes('{', 1))
    return { fault: `${showTemplate(written)}: a { must be closed before the next one; use single braces` };
  const [, name = '', slice] = /^\{([^:]*)(:[^]*)?\}$/.exec(written) ?? [];
  return withSlice({ written, name }, slice, end + 1);
};

const doubled = /\{(\{[a-z_]{1,40}(?::[\d:]*)?\})\}/y;
const word = /\{([a-z_]{1,40})(:[\d:]*)?\}/y;

const readWord = (text: string, at: number): Step => {
  doubled.lastIndex = at;
  const literal = doubled.exec(text)?.[1];
  if (literal !== undefined) return { part: literal, end: doubled.lastIndex };
  word.lastIndex = at;
  const [written, name, slice] = word.exec(text) ?? [];
  if (written === undefined || name === undefined) return { part: text.slice(at, at + 1), end: at + 1 };
  return withSlice({ written, name }, slice, at + written.length);
};

const withSlice = (placeholder: Placeholder, slice: string | undefined, end: number): Step => {
  if (slice === undefined) return { part: placeholder, end };
  const [, start, length] = /^:(\d{1,4}):(\d{1,4})$/.exec(slice) ?? [];
  if (start !== undefined && Number(length) > 0)
    return { part: { ...placeholder, slice: { start: Number(start), length: Number(length) } }, end };
  const right = placeholder.written.replace(/:[^]*$/, ':0:7}');
  return {
    fault: `${showTemplate(placeholder.written)}: a slice is where it begins, counted from 0, and how many characters: ${showTemplate(right)}`,
  };
};

/** The next closing brace, or the end of the text. */
const closing = (text: string, at: number): number => {
  const end = text.indexOf('}', at);
  return end === -1 ? text.length : end;
};

/** A template may be anything; what is shown of it fits on a line. */
export const showTemplate = (text: string): string => {
  const printable = text.slice(0, 61).replaceAll(/\p{C}/gu, '\uFFFD');
  return text.length > 60 ? `${printable.slice(0, 59)}…` : printable;
};

/** By characters, not by halves of them. */
export const takeSlice = (value: string, slice: Slice | undefined): string =>
  slice === undefined
    ? value
    : Array.from(value)
        .slice(slice.start, slice.start + slice.length)
        .join('');
