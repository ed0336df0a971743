import type { FolderListing } from './folder-listing.ts';

export interface Folder {
  /** Empty for the root. */
  readonly path: string;
  readonly names: ReadonlySet<string>;
  readonly listing: FolderListing;
}

/** Runs once for each commit, before the services. */
export interface Step {
  readonly directory: string;
  /** For `sh`. */
  readonly command: string;
  /** For people, such as "packages installed with npm (package-lock.json)". */
  readonly what: string;
}

export interface Detected {
  readonly name?: string;
  /** The file it was found in, and how. */
  readonly file: string;
  readonly why: string;
  /** A line for `sh`, or a list of arguments. */
  readonly command: string | readonly string[];
  /** Several services may share them. */
  readonly steps: readonly Step[];
  /** False for workers, which have no port. */
  readonly listens: boolean;
  /** False if nothing was found that reads PORT or that takes a port. */
  readonly knowsPort: boolean;
}

export type Detector = (folder: Folder) => Promise<readonly Detected[]>;

export const joinPath = (folder: string, name: string): string => (folder === '' ? name : `${folder}/${name}`);
export const pathIn = ({ path }: Folder, name: string): string => joinPath(path, name);
export const readIn = (folder: Folder, name: string): Promise<string> => folder.listing.read(pathIn(folder, name));

/** The folder itself first, the root last. */
export const selfAndAbove = (folder: string): readonly string[] => {
  const steps = folder === '' ? [] : folder.split('/');
  return [...steps.map((_, index) => steps.slice(0, steps.length - index).join('/')), ''];
};

/** For `sh`. Names in listings hold no quotes. */
export const quote = (name: string): string => (/^[\w./@+-]+$/.test(name) ? name : `'${name}'`);

/** Folders whose programs rarely belong in an environment. */
export const auxiliary = /(^|\/)(docs?|tests?|__tests__|e2e|examples?|samples?|demos?|scripts|tools)(\/|$)/i;
