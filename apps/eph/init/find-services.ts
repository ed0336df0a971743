import { toDnsLabel } from '@eph/contract';
import { auxiliary, type Detected, type Detector, type Folder, pathIn, quote, readIn, type Step } from './detector.ts';
import { findPortArguments, findPortInSources, sourcesIn } from './find-port.ts';
import type { FolderListing } from './folder-listing.ts';
import { buildSteps, fromAnyPackage, fromPackage } from './from-package.ts';
import { fromPython } from './from-python.ts';
import { findNodeInstall, findPythonInstall } from './installs.ts';
import { findMissing } from './missing.ts';
import { parsePackage } from './package-json.ts';
import { parseDockerCommand, parseProcfile } from './start-commands.ts';

export interface ServiceCandidate extends Detected {
  /** A unique DNS label. */
  readonly name: string;
  readonly directory: string;
  /** Names of variables with addresses of other services, which the sources mention. */
  readonly addresses: readonly string[];
}

export interface FoundServices {
  readonly services: readonly ServiceCandidate[];
  /** Found in a Dockerfile or in pages, which say less than a Compose file or a manifest. */
  readonly areGuessed: boolean;
  /** What to write instead of what was not found. */
  readonly missing: readonly string[];
}

const mostServices = 20;

/** The root first. Folders below a service are considered part of it. */
export const findServices = async (listing: FolderListing): Promise<FoundServices> => {
  const folders = groupByFolder(listing).filter(({ path }) => !auxiliary.test(path));
  const programs = await detectPrograms(folders);
  // Dockerfiles and pages are used only if there is nothing more specific.
  const guesses = programs.length > 0 ? [] : await detectIn(folders, [fromDockerfile]);
  const pages = programs.length + guesses.length > 0 ? [] : (await detectIn(folders, [fromPages])).slice(0, 1);
  const found = assignUniqueNames([...programs, ...guesses, ...pages].slice(0, mostServices));
  const services = await Promise.all(found.map((one) => findAddresses(listing, one, found)));
  return { services, areGuessed: programs.length === 0, missing: await findMissing(folders, pages.length > 0 ? [] : services) };
};

const detectPrograms = async (folders: readonly Folder[]): Promise<readonly DetectedIn[]> => {
  const found = await detectIn(folders, [fromProcfile, fromPackage, fromGoModule, fromPython]);
  return found.length > 0 ? found : detectIn(folders, [fromAnyPackage]);
};

type DetectedIn = Detected & { readonly directory: string };

const detectIn = async (folders: readonly Folder[], detectors: readonly Detector[]): Promise<readonly DetectedIn[]> => {
  const found: DetectedIn[] = [];
  const taken: string[] = [];
  for (const folder of folders) {
    if (taken.some((path) => path === '' || folder.path.startsWith(`${path}/`))) continue;
    const here = await detectFirst(folder, detectors);
    if (here.length > 0) taken.push(folder.path);
    found.push(...here.map((one) => ({ ...one, directory: folder.path })));
  }
  return found;
};

const detectFirst = async (folder: Folder, detectors: readonly Detector[]): Promise<readonly Detected[]> => {
  for (const detect of detectors) {
    const found = await detect(folder);
    if (found.length > 0) return found;
  }
  return [];
};

const groupByFolder = (listing: FolderListing): readonly Folder[] => {
  const folders = new Map<string, Set<string>>([['', new Set()]]);
  for (const file of listing.files) {
    const slash = file.lastIndexOf('/');
    const path = file.slice(0, Math.max(0, slash));
    const names = folders.get(path) ?? new Set();
    folders.set(path, names.add(file.slice(slash + 1)));
  }
  return [...folders].map(([path, names]) => ({ path, names, listing }));
};

const fromProcfile: Detector = async (folder) => {
  if (!folder.names.has('Procfile')) return [];
  const { steps, path } = await prepareProcfile(folder);
  const sources = await findPortInSources(folder.listing, folder.path);
  return parseProcfile(await readIn(folder, 'Procfile')).map(({ name, command }) => {
    const port = findPortArguments(command);
    const listens = name === 'web';
    return {
      name,
      file: pathIn(folder, 'Procfile'),
      why: `process ${name}`,
      command: `${path}${command}${listens && port !== undefined && port !== '' ? ` ${port}` : ''}`,
      steps,
      listens,
      knowsPort: (port ?? sources) !== undefined,
    };
  });
};

/** What the build packs of a platform that reads Procfiles do before they start a process. */
const prepareProcfile = async (folder: Folder): Promise<{ readonly steps: readonly Step[]; readonly path: string }> => {
  const { names, listing, path } = folder;
  const node = names.has('package.json') ? await findNodeInstall(listing, path) : undefined;
  const python = await findPythonInstall(listing, path);
  const scripts = node === undefined ? new Map<string, string>() : parsePackage(await readIn(folder, 'package.json')).scripts;
  const folders = [...(node?.step === undefined ? [] : ['node_modules/.bin']), ...(python === undefined ? [] : ['.venv/bin'])];
  return {
    steps: [node?.step, python]
      .filter((step) => step !== undefined)
      .concat(
        node === undefined ? [] : buildSteps(folder, scripts, node.program),
        names.has('go.mod') ? [goBuild(folder, 'bin/', './...')] : [],
      ),
    path: folders.length === 0 ? '' : `export PATH="${folders.map((one) => `$PWD/${one}:`).join('')}$PATH" && `,
  };
};

const fromGoModule: Detector = async (folder) => {
  if (!folder.names.has('go.mod')) return [];
  const commands = pathIn(folder, 'cmd/');
  const isCommand = (file: string): boolean => file.startsWith(commands) && /^[^/]+\/main\.go$/.test(file.slice(commands.length));
  const programs = folder.names.has('main.go') ? [pathIn(folder, 'main.go')] : folder.listing.files.filter(isCommand);
  const port = await findPortInSources(folder.listing, folder.path);
  return programs.map((file) => {
    const name = file.startsWith(commands) ? file.slice(commands.length, -'/main.go'.length) : undefined;
    const output = `bin/${name ?? 'server'}`;
    return {
      ...(name === undefined ? {} : { name }),
      file,
      why: 'program of a Go module',
      command: `${quote(`./${output}`)}${port === undefined || port === '' ? '' : ` ${port}`}`,
      steps: [goBuild(folder, output, name === undefined ? '.' : `./cmd/${name}`)],
      listens: true,
      knowsPort: port !== undefined,
    };
  });
};

const goBuild = ({ path }: Folder, output: string, packages: string): Step => ({
  directory: path,
  command: `go build -o ${quote(output)} ${quote(packages)}`,
  what: 'built with go',
});

/** Python is on nearly every machine; another server would have to be added to the repository. */
export const serveFiles = 'python3 -m http.server "$PORT" --bind 127.0.0.1';

const fromPages: Detector = async (folder) =>
  folder.names.has('index.html')
    ? [
        {
          file: pathIn(folder, 'index.html'),
          why: 'static pages',
          command: serveFiles,
          steps: [],
          listens: true,
          knowsPort: true,
        },
      ]
    : [];

const fromDockerfile: Detector = async (folder) => {
  if (!folder.names.has('Dockerfile')) return [];
  const command = parseDockerCommand(await readIn(folder, 'Dockerfile'));
  if (command === undefined) return [];
  const port = typeof command === 'string' ? findPortArguments(command) : undefined;
  const known = port ?? (await findPortInSources(folder.listing, folder.path));
  const file = pathIn(folder, 'Dockerfile');
  const complete = port === undefined || port === '' ? command : `${String(command)} ${port}`;
  return [{ file, why: 'command of the image', command: complete, steps: [], listens: true, knowsPort: known !== undefined }];
};

const assignUniqueNames = (found: readonly DetectedIn[]): readonly (DetectedIn & { readonly name: string })[] => {
  // A service cannot have the name of the step before all services.
  const taken = new Set<string>(['prepare']);
  return found.map((one) => {
    const wanted = toDnsLabel(one.name ?? (one.directory.split('/').at(-1) || 'web'))
      .slice(0, 50)
      .replace(/-+$/, '');
    let name = wanted;
    for (let number = 2; taken.has(name); number += 1) name = `${wanted}-${number}`;
    taken.add(name);
    return { ...one, name };
  });
};

const mostRead = 60;

const findAddresses = async (
  listing: FolderListing,
  service: DetectedIn & { readonly name: string },
  all: readonly { readonly name: string; readonly listens: boolean }[],
): Promise<ServiceCandidate> => {
  const others = all.filter(({ name, listens }) => listens && name !== service.name).map(({ name }) => addressVariable(name));
  const mentioned = new Set<string>();
  for (const file of others.length === 0 ? [] : sourcesIn(listing, service.directory).slice(0, mostRead)) {
    const words = new Set((await listing.read(file)).match(/\b[A-Z][A-Z0-9_]*_URL\b/g));
    for (const name of others) if (words.has(name)) mentioned.add(name);
  }
  return { ...service, addresses: [...mentioned] };
};

/** `API_URL` for `api`. */
export const addressVariable = (service: string): string => `${service.toUpperCase().replaceAll('-', '_')}_URL`;
