import { type Check, type Command, type ImageReference, parseImageReference, type WantedImage } from '@eph/contract';

/**
 * What people and builds say about images: `--image=[name=]reference` in a comment, and in notes and checks the lines
 * `eph-images: name=reference, …` and `eph-image: reference`. All of it is untrusted text.
 */
export type Stated =
  | { readonly state: 'image'; readonly text: string; readonly reference: ImageReference }
  | { readonly state: 'unclear'; readonly text: string };

interface Statement {
  /** Undefined where none was given. */
  readonly name: string | undefined;
  readonly text: string;
}

/** Enough for thousands of images; the rest is not read. */
const longestText = 64 * 1024;
const longestShown = 200;

/** What a text says about an image; of several lines the last counts. */
export const findStated = (text: string, image: WantedImage): Stated | undefined => choose(readLines(text), image);

export const findInChecks = (checks: readonly Check[], image: WantedImage): (Stated & { readonly check: string }) | undefined => {
  for (const { name, text, state } of checks) {
    const stated = state === 'success' ? findStated(text, image) : undefined;
    if (stated !== undefined) return { ...stated, check: name };
  }
  return undefined;
};

export const findInCommand = (command: Command | undefined, image: WantedImage): Stated | undefined =>
  command === undefined ? undefined : choose(readOptions(command), image);

/** The options of a comment that mean none of these images. */
export const findUnused = (command: Command, images: readonly WantedImage[]): readonly string[] =>
  readOptions(command)
    .filter((statement) => !images.some((image) => image.fixed === undefined && isAbout(statement, image)))
    .map(({ name, text }) => show(name === undefined ? text : `${name}=${text}`));

const choose = (statements: readonly Statement[], image: WantedImage): Stated | undefined => {
  const statement = statements.findLast((one) => isAbout(one, image));
  if (statement === undefined) return undefined;
  const reference = parseImageReference(statement.text);
  const text = show(statement.text);
  return reference === undefined || (reference.tag ?? reference.digest) === undefined
    ? { state: 'unclear', text }
    : { state: 'image', text, reference };
};

const isAbout = ({ name, text }: Statement, image: WantedImage): boolean => {
  if (name !== undefined) return name === image.name;
  return image.isOnly || parseImageReference(text)?.repository === image.repository;
};

const readLines = (text: string): readonly Statement[] =>
  text
    .slice(0, longestText)
    .split(/\r?\n/)
    .flatMap((line) => {
      const [, key, rest = ''] = /^\s*(eph-images?):(.*)$/.exec(line) ?? [];
      if (key === 'eph-image') return [{ name: undefined, text: rest.trim() }];
      return key === undefined ? [] : rest.split(',').flatMap(readPair);
    });

const readPair = (pair: string): readonly Statement[] => {
  const at = pair.indexOf('=');
  return at === -1 ? [] : [{ name: pair.slice(0, at).trim(), text: pair.slice(at + 1).trim() }];
};

const option = '--image=';

const readOptions = ({ text }: Command): readonly Statement[] =>
  text
    .split(/\s+/)
    .filter((word) => word.startsWith(option))
    .map((word) => word.slice(option.length))
    .map((value) => readPair(value)[0] ?? { name: undefined, text: value });

/** For messages: on one line, and not too long. */
const show = (text: string): string => {
  const line = JSON.stringify(text.length > longestShown ? `${text.slice(0, longestShown)}…` : text);
  return /^"[\w./:@=-]+"$/.test(line) ? line.slice(1, -1) : line;
};
