const ascii = /^[\x20-\x7e]*$/;
const wide =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;
const invisible = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** In columns of a terminal. Branch names may be in any script. */
export const displayWidth = (text: string): number => {
  if (ascii.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += graphemeWidth(segment);
  return width;
};

/** Cuts to at most `width` columns, with an ellipsis for the rest. */
export const fitToWidth = (text: string, width: number): string => {
  if (displayWidth(text) <= width) return text;
  let kept = '';
  let used = 1;
  for (const { segment } of graphemes.segment(text)) {
    used += graphemeWidth(segment);
    if (used > width) break;
    kept += segment;
  }
  return `${kept}…`;
};

const graphemeWidth = (grapheme: string): number => {
  if (invisible.test(grapheme)) return 0;
  return wide.test(grapheme) ? 2 : 1;
};
