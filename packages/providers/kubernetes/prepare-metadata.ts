import { asMap, type JsonMap, type JsonValue } from '@eph/contract';

/** What is left of metadata that strangers wrote. */
export interface PreparedMetadata {
  readonly name?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Labels and annotations of Eph, which nobody else writes. */
const isMark = (key: string): boolean => key.startsWith('eph.io/');

/**
 * With the labels of Eph, and without all else that is no name, label or annotation: finalizers in the template of pods or claims would
 * keep them from going away.
 */
export const prepareMetadata = (
  { name, labels, annotations }: JsonMap,
  marks: Readonly<Record<string, string>>,
  blame: (why: string) => Error,
): PreparedMetadata => {
  const written = Object.entries(keepTexts('annotation', annotations, blame));
  return {
    ...(typeof name === 'string' && { name }),
    labels: { ...keepTexts('label', labels, blame), ...marks },
    ...(written.length > 0 && { annotations: Object.fromEntries(written) }),
  };
};

const keepTexts = (what: string, texts: JsonValue | undefined, blame: (why: string) => Error): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(asMap(texts)).flatMap(([key, value]): [string, string][] => {
      if (isMark(key)) return [];
      if (typeof value !== 'string')
        throw blame(`the ${what} ${JSON.stringify(key.slice(0, 100))} is no text; put its value in quotes`);
      return [[key, value]];
    }),
  );
