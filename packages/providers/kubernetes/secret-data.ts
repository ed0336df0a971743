import { type JsonMap, type JsonValue, namespacePlaceholder } from '@eph/contract';

export const encode = (text: string): string => Buffer.from(text).toString('base64');

/**
 * A Secret with all its contents in `data`: `stringData` is only for writing, so nobody could see what of it is still there. Charts encode
 * texts themselves, with the namespace in them.
 */
export const prepareSecretData = (secret: JsonMap, namespace: string, blame: (why: string) => Error): JsonMap => {
  const { data, stringData, ...rest } = secret;
  const contents = {
    ...mapTexts('data', data, blame, (text) => putNamespace(text, namespace)),
    ...mapTexts('stringData', stringData, blame, encode),
  };
  return Object.keys(contents).length === 0 ? rest : { ...rest, data: contents };
};

/** Byte by byte, since it may be anything. */
const putNamespace = (encoded: string, namespace: string): string => {
  const bytes = Buffer.from(encoded, 'base64').toString('latin1');
  if (!bytes.includes(namespacePlaceholder)) return encoded;
  return Buffer.from(bytes.replaceAll(namespacePlaceholder, namespace), 'latin1').toString('base64');
};

const mapTexts = (
  field: string,
  value: JsonValue | undefined,
  blame: (why: string) => Error,
  change: (text: string) => string,
): JsonMap => {
  if (value === undefined || value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) throw blame(`its ${field} is no map`);
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => {
      if (typeof one !== 'string')
        throw blame(`its ${field} has a value that is no text, ${JSON.stringify(key.slice(0, 100))}; put it in quotes`);
      return [key, change(one)];
    }),
  );
};
