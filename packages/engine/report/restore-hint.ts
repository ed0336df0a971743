import type { SourceRef, Trigger } from '@eph/contract';

/** How to get a removed environment back. */
export const describeRestore = (source: SourceRef, triggers: readonly Trigger[]): string => {
  if (source.kind !== 'pr') return 'Push the branch or tag again to bring it back.';
  if (triggers.some((trigger) => trigger.type === 'auto')) return 'Reopen the pull request to bring it back.';
  const ways = triggers.flatMap((trigger) => {
    if (trigger.type === 'pr_label') return [`Add the label ${quoteNames(trigger.labels)}`];
    if (trigger.type === 'pr_comment') return [`Comment ${quoteNames(trigger.patterns)}`];
    return [];
  });
  if (ways.length === 0) return 'Reopen the pull request, or ask for the environment again, to bring it back.';
  const sentence = ways.map((way, index) => (index === 0 ? way : way.charAt(0).toLowerCase() + way.slice(1))).join(', or ');
  return `${sentence} on the open pull request to bring it back.`;
};

const quoteNames = (names: readonly string[]): string =>
  names
    .slice(0, 3)
    .map((name) => `“${shorten(name)}”`)
    .join(' or ');

const shorten = (name: string): string => {
  const letters = Array.from(name.slice(0, 120).replaceAll(/\s+/g, ' '));
  return letters.length > 50 ? `${letters.slice(0, 49).join('')}…` : letters.join('');
};
