import type { Figure } from './figure.ts';

export interface Measurement {
  readonly title: string;
  /** The names of its figures; one name also stands for `<name> <package>`. */
  readonly figures: readonly string[];
  measure(): readonly Figure[] | Promise<readonly Figure[]>;
}

export interface Selected {
  readonly measurement: Measurement;
  /** Whether the figure was asked for. */
  readonly isWanted: (name: string) => boolean;
}

export const hasName = (figure: string, name: string): boolean => figure === name || figure.startsWith(`${name} `);

/** A word is a figure or a part of a title; no words select everything. */
export const selectMeasurements = (measurements: readonly Measurement[], words: readonly string[]): readonly Selected[] => {
  const isFigure = (word: string): boolean => measurements.some(({ figures }) => figures.includes(word));
  const unknown = words.filter((word) => !isFigure(word) && !measurements.some(({ title }) => title.includes(word)));
  if (unknown.length > 0)
    throw new Error(`neither a figure nor part of a title: ${unknown.join(', ')}\n\n${listFigures(measurements)}`);
  const [names, titles] = [words.filter(isFigure), words.filter((word) => !isFigure(word))];
  return measurements.flatMap((measurement) => {
    const isWhole = words.length === 0 || titles.some((word) => measurement.title.includes(word));
    const wanted = isWhole ? measurement.figures : measurement.figures.filter((figure) => names.includes(figure));
    if (wanted.length === 0) return [];
    return [{ measurement, isWanted: (figure) => wanted.some((name) => hasName(figure, name)) }];
  });
};

/** The figures under the titles of their measurements. */
export const listFigures = (measurements: readonly Measurement[]): string =>
  measurements.map(({ title, figures }) => `${title}\n${figures.map((figure) => `  ${figure}`).join('\n')}`).join('\n');
