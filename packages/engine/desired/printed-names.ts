import type { SourceRef } from '@eph/contract';

/** Long enough for usual names; a reason with several of them stays readable. */
const maxLength = 100;
const maxNames = 5;

/** Line breaks, direction controls, and lone surrogates, which cannot be encoded. */
const unprintable = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** An untrusted name, for use in one line of text. */
export const printName = (name: string): string => {
  // Cut first: a name may have any length.
  const start = Array.from(name.slice(0, 2 * maxLength + 2));
  const text = start.length > maxLength ? `${start.slice(0, maxLength - 1).join('')}…` : start.join('');
  return text.replace(unprintable, '\u{fffd}');
};

export const printNames = (names: readonly string[]): string => {
  const shown = names.slice(0, maxNames).map(printName).join(', ');
  return names.length > maxNames ? `${shown} and ${names.length - maxNames} more` : shown;
};

const kinds = { branch: 'branch', tag: 'tag', pr: 'pull request' } as const satisfies Record<SourceRef['kind'], string>;

export const printSource = (ref: SourceRef): string => `${kinds[ref.kind]} ${printName(ref.name)}`;
