import type { FolderListing } from './folder-listing.ts';
import { parsePackage } from './start-commands.ts';

export interface Install {
  readonly program: 'npm' | 'pnpm' | 'yarn' | 'bun' | 'python';
  /** For `sh`, in the folder of the service. */
  readonly command: string;
  /** The target folder: services that share it must not install at the same time. */
  readonly into: string;
  /** Must precede a command that uses installed programs. */
  readonly intoPath: string;
  readonly file: string;
}

const lockFiles = [
  ['pnpm-lock.yaml', 'pnpm', 'pnpm install --frozen-lockfile'],
  ['yarn.lock', 'yarn', 'yarn install'],
  ['bun.lock', 'bun', 'bun install'],
  ['bun.lockb', 'bun', 'bun install'],
  ['package-lock.json', 'npm', 'npm ci'],
  ['npm-shrinkwrap.json', 'npm', 'npm ci'],
] as const;

export const findInstall = async (listing: FolderListing, folder: string): Promise<Install | undefined> =>
  (await findNodeInstall(listing, folder)) ?? findPythonInstall(listing, folder);

const findNodeInstall = async (listing: FolderListing, folder: string): Promise<Install | undefined> => {
  const own = pathIn(folder, 'package.json');
  if (!listing.files.includes(own)) return undefined;
  const { needsPackages } = parsePackage(await listing.read(own));
  if (!needsPackages) return undefined;
  const intoPath = 'export PATH="$PWD/node_modules/.bin:$PATH"';
  // The lock file of a workspace is in a folder above.
  for (const above of selfAndAbove(folder)) {
    const lock = lockFiles.find(([name]) => listing.files.includes(pathIn(above, name)));
    if (lock === undefined) continue;
    const [name, program, command] = lock;
    return { program, command, into: pathIn(above, 'node_modules'), intoPath, file: pathIn(above, name) };
  }
  return { program: 'npm', command: 'npm install', into: pathIn(folder, 'node_modules'), intoPath, file: own };
};

const findPythonInstall = (listing: FolderListing, folder: string): Install | undefined => {
  const file = pathIn(folder, 'requirements.txt');
  if (!listing.files.includes(file)) return undefined;
  return {
    program: 'python',
    command: 'python3 -m venv .venv && .venv/bin/pip install -r requirements.txt',
    into: pathIn(folder, '.venv'),
    intoPath: 'export PATH="$PWD/.venv/bin:$PATH"',
    file,
  };
};

const selfAndAbove = (folder: string): readonly string[] => {
  const steps = folder === '' ? [] : folder.split('/');
  return [...steps.map((_, index) => steps.slice(0, steps.length - index).join('/')), ''];
};

const pathIn = (folder: string, name: string): string => (folder === '' ? name : `${folder}/${name}`);
