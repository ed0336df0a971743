import { joinPath, type Step, selfAndAbove } from './detector.ts';
import type { FolderListing } from './folder-listing.ts';
import { matchesWorkspace, parsePackage, parsePnpmWorkspace } from './package-json.ts';
import { parseProject } from './python-project.ts';

export interface NodeInstall {
  readonly program: 'npm' | 'pnpm' | 'yarn' | 'bun';
  /** Undefined if there is nothing to install. */
  readonly step: Step | undefined;
}

const lockFiles = [
  ['pnpm-lock.yaml', 'pnpm', 'pnpm install --frozen-lockfile'],
  ['yarn.lock', 'yarn', 'yarn install'],
  ['bun.lock', 'bun', 'bun install'],
  ['bun.lockb', 'bun', 'bun install'],
  ['package-lock.json', 'npm', 'npm ci'],
  ['npm-shrinkwrap.json', 'npm', 'npm ci'],
] as const;

/** For a folder with a package.json. */
export const findNodeInstall = async (listing: FolderListing, folder: string): Promise<NodeInstall> => {
  const own = joinPath(folder, 'package.json');
  const root = await findWorkspaceRoot(listing, folder);
  const isNeeded =
    root !== undefined ||
    (await readWorkspaces(listing, folder)).length > 0 ||
    parsePackage(await listing.read(own)).needsPackages;
  const places = root === undefined ? selfAndAbove(folder) : [root];
  for (const place of places) {
    const lock = lockFiles.find(([name]) => listing.files.includes(joinPath(place, name)));
    // Another package above, of which this one is no part, has packages of its own.
    if (lock === undefined || (place !== folder && root === undefined && has(listing, place, 'package.json'))) continue;
    const [name, program, command] = lock;
    return { program, step: isNeeded ? install(place, command, program, joinPath(place, name)) : undefined };
  }
  const place = root ?? folder;
  const file = joinPath(place, 'package.json');
  return { program: 'npm', step: isNeeded ? install(place, 'npm install', 'npm', file) : undefined };
};

/** The folder whose workspace a folder is part of. */
export const findWorkspaceRoot = async (listing: FolderListing, folder: string): Promise<string | undefined> => {
  for (const above of selfAndAbove(folder).slice(1)) {
    const patterns = await readWorkspaces(listing, above);
    if (matchesWorkspace(patterns, folder.slice(joinPath(above, '').length))) return above;
  }
  return undefined;
};

export const readWorkspaces = async (listing: FolderListing, folder: string): Promise<readonly string[]> => {
  const read = (name: string): Promise<string> | string =>
    has(listing, folder, name) ? listing.read(joinPath(folder, name)) : '';
  return [...parsePackage(await read('package.json')).workspaces, ...parsePnpmWorkspace(await read('pnpm-workspace.yaml'))];
};

/** All of them put programs into `.venv` of the folder. */
const pythonInstalls = [
  ['uv.lock', 'uv', 'uv sync --frozen'],
  ['poetry.lock', 'poetry', 'POETRY_VIRTUALENVS_IN_PROJECT=1 poetry install'],
  ['Pipfile.lock', 'pipenv', 'PIPENV_VENV_IN_PROJECT=1 pipenv sync'],
  ['requirements.txt', 'pip', 'python3 -m venv .venv && .venv/bin/pip install -r requirements.txt'],
  ['pyproject.toml', 'pip', 'python3 -m venv .venv && .venv/bin/pip install .'],
] as const;

export const findPythonInstall = async (listing: FolderListing, folder: string): Promise<Step | undefined> => {
  const found = pythonInstalls.find(([name]) => has(listing, folder, name));
  if (found === undefined) return undefined;
  const [name, program, command] = found;
  const file = joinPath(folder, name);
  // Without a project it only configures tools.
  if (name === 'pyproject.toml' && !parseProject(await listing.read(file)).isProject) return undefined;
  return install(folder, command, program, file);
};

const has = (listing: FolderListing, folder: string, name: string): boolean => listing.files.includes(joinPath(folder, name));

const install = (directory: string, command: string, program: string, file: string): Step => ({
  directory,
  command,
  what: `packages installed with ${program} (${file})`,
});
