/** Whether a client prefers HTML to JSON. One without a preference is a program and gets JSON. */
export const prefersHtml = (accept: string | undefined): boolean => {
  if (accept === undefined) return false;
  const ranges = accept.split(',').map(parseRange);
  return quality(ranges, 'text', 'html') > quality(ranges, 'application', 'json');
};

interface MediaRange {
  readonly type: string;
  readonly subtype: string;
  readonly quality: number;
}

const parseRange = (text: string): MediaRange => {
  const [range = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const [type = '', subtype = ''] = range.split('/');
  const weight = parameters.find((parameter) => parameter.startsWith('q='));
  const quality = weight === undefined ? 1 : Number(weight.slice(2));
  return { type, subtype, quality: Number.isNaN(quality) ? 0 : quality };
};

/** The most specific range that matches decides (RFC 9110, 12.5.1). */
const quality = (ranges: readonly MediaRange[], type: string, subtype: string): number => {
  const exact = ranges.find((range) => range.type === type && range.subtype === subtype);
  const partial = ranges.find((range) => range.type === type && range.subtype === '*');
  const any = ranges.find((range) => range.type === '*' && range.subtype === '*');
  return (exact ?? partial ?? any)?.quality ?? 0;
};
