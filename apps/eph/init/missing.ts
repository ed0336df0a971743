import { toDnsLabel } from '@eph/contract';
import { type Detected, type Folder, pathIn, readIn } from './detector.ts';
import { findWorkspaceRoot, readWorkspaces } from './installs.ts';
import { parsePackage } from './package-json.ts';
import { parseProject } from './python-project.ts';

/** Package managers that nothing is proposed for, with an example of what people write. */
const otherInstalls: Readonly<Record<string, string>> = {
  Gemfile: 'bundle install',
  'Cargo.toml': 'cargo build --release',
  'pom.xml': 'mvn package',
  'build.gradle': './gradlew build',
  'build.gradle.kts': './gradlew build',
  'composer.json': 'composer install',
  'mix.exs': 'mix deps.get',
};

const mostFolders = 20;

/** Sentences about folders that look like programs but were not understood. */
export const findMissing = async (
  folders: readonly Folder[],
  services: readonly (Detected & { readonly directory: string })[],
): Promise<readonly string[]> => {
  const missing: string[] = [];
  const directories = services.map(({ directory }) => directory);
  const isBelowService = (path: string): boolean => directories.some((one) => one === '' || path.startsWith(`${one}/`));
  for (const folder of folders) {
    const hasService = directories.includes(folder.path);
    if (!hasService && (isBelowService(folder.path) || (folder.path === '' && services.length > 0))) continue;
    const others = Object.keys(otherInstalls).filter((name) => folder.names.has(name));
    if (!hasService && (others.length > 0 || (await isExpectedToStart(folder)))) missing.push(printStart(folder));
    missing.push(...others.map((name) => printInstall(folder, name)));
  }
  return missing.slice(0, mostFolders);
};

/** Libraries and the roots of workspaces are not. */
const isExpectedToStart = async (folder: Folder): Promise<boolean> => {
  if (folder.names.has('requirements.txt')) return true;
  if (folder.names.has('pyproject.toml') && parseProject(await readIn(folder, 'pyproject.toml')).isProject) return true;
  if (!folder.names.has('package.json')) return false;
  if ((await readWorkspaces(folder.listing, folder.path)).length > 0) return false;
  const { isLibrary, main, needsPackages, scripts } = parsePackage(await readIn(folder, 'package.json'));
  if (isLibrary || main !== undefined || folder.names.has('index.js') || folder.names.has('index.ts')) return false;
  const isMember = (await findWorkspaceRoot(folder.listing, folder.path)) !== undefined;
  return isMember || needsPackages || scripts.size > 0;
};

const printStart = ({ path }: Folder): string => {
  const name = toDnsLabel(path.split('/').at(-1) || 'web');
  return `No start command was found in ${path || 'this folder'}. Write one under process.services.${name}.command.`;
};

const printInstall = (folder: Folder, name: string): string =>
  `No installation is known for ${pathIn(folder, name)}. Write one under process.prepare, such as \`${otherInstalls[name]}\`.`;
