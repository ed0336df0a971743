const unitSeconds = { ms: 0.001, s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 } as const;

const part = /(\d+(?:\.\d+)?)(ms|s|m|h|d|w)/y;

/** `90s`, `1h30m`, `7d`, in seconds; undefined for anything else. */
export const parseDuration = (text: string): number | undefined => {
  let seconds = 0;
  part.lastIndex = 0;
  while (part.lastIndex < text.length) {
    const match = part.exec(text);
    if (match === null) return undefined;
    seconds += Number(match[1]) * unitSeconds[match[2] as keyof typeof unitSeconds];
  }
  return text === '' || !Number.isFinite(seconds) ? undefined : seconds;
};

/** The shortest way to write it: `3d`, `1h30m`, `500ms`. */
export const printDuration = (seconds: number): string => {
  let left = Math.round(seconds * 1000);
  let text = '';
  for (const [unit, size] of Object.entries(unitSeconds).toReversed()) {
    const count = Math.floor(left / (size * 1000));
    if (unit !== 'w' && count > 0) text += `${count}${unit}`;
    if (unit !== 'w') left -= count * size * 1000;
  }
  return text === '' ? '0s' : text;
};
