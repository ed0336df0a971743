/** To the minute, for people: `2026-03-01 12:30 UTC`. Undefined where the text is no time. */
export const printMoment = (at: string): string | undefined => {
  const ms = Date.parse(at);
  if (Number.isNaN(ms)) return undefined;
  const [day = '', time = ''] = new Date(ms).toISOString().split('T');
  return `${day} ${time.slice(0, 5)} UTC`;
};
