import { describe, expect, it } from 'vitest';
import { type Measurement, selectMeasurements } from './selection.ts';

const measurement = (title: string, ...figures: readonly string[]): Measurement => ({ title, figures, measure: () => [] });
const measurements = [
  measurement('passes over unchanged environments', 'pass-10k', 'pass-growth'),
  measurement('lines of source', 'source-lines', 'test-lines'),
  measurement('the gateway', 'gateway-vs-nginx'),
];

const select = (...words: readonly string[]) =>
  selectMeasurements(measurements, words).map(({ measurement: { title, figures }, isWanted }) => [
    title,
    figures.filter(isWanted),
  ]);

describe('what npm run bench measures', () => {
  it('is everything unless something is named', () => {
    expect(select()).toEqual(measurements.map(({ title, figures }) => [title, figures]));
  });

  it('is the measurement of a figure, of which only that figure is reported', () => {
    expect(select('pass-growth', 'gateway-vs-nginx')).toEqual([
      ['passes over unchanged environments', ['pass-growth']],
      ['the gateway', ['gateway-vs-nginx']],
    ]);
  });

  it('is every figure under a title that contains the word', () => {
    expect(select('unchanged')).toEqual([['passes over unchanged environments', ['pass-10k', 'pass-growth']]]);
    expect(select('unchanged', 'pass-10k', 'lines')).toHaveLength(2);
    expect(select('unchanged', 'pass-10k')[0]?.[1]).toHaveLength(2);
  });

  it('includes a figure per package under its name', () => {
    const [lines] = selectMeasurements(measurements, ['source-lines']);
    expect(
      ['source-lines', 'source-lines apps/eph', 'source-lines-core', 'test-lines apps/eph'].map((name) => lines?.isWanted(name)),
    ).toEqual([true, true, false, false]);
  });

  it('refuses a word that is neither, with the list of those that are', () => {
    expect(() => select('pass-growth', 'speed')).toThrow(
      /^neither a figure nor part of a title: speed\n[^]*the gateway\n {2}gateway-vs-nginx/,
    );
  });
});
