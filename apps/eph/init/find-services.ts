import { toDnsLabel } from '@eph/contract';
import type { FolderListing } from './folder-listing.ts';
import { findInstall, type Install } from './installs.ts';
import { parseDockerCommand, parsePackage, parseProcfile } from './start-commands.ts';

export interface ServiceCandidate {
  /** A unique DNS label. */
  readonly name: string;
  /** The file it was found in, and how. */
  readonly file: string;
  readonly why: string;
  readonly directory: string;
  /** A line for `sh`, or a list of arguments. */
  readonly command: string | readonly string[];
  /** Must run once before the command; several services may share it. */
  readonly install?: Install | undefined;
  /** False for workers, which have no port. */
  readonly listens: boolean;
  /** Slow to get ready even without an installation. */
  readonly slow?: boolean;
}

const mostServices = 20;

type Detected = Omit<ServiceCandidate, 'name' | 'directory'> & { readonly name?: string };

interface Folder {
  readonly path: string;
  readonly names: ReadonlySet<string>;
  readonly listing: FolderListing;
}

/** Folders whose programs rarely belong in an environment. */
const auxiliary = /(^|\/)(docs?|tests?|e2e|examples?|samples?|demos?|scripts|tools)(\/|$)/i;

/** The root first. Folders below a service are considered part of it. */
export const findServices = async (listing: FolderListing): Promise<readonly ServiceCandidate[]> => {
  const folders = groupByFolder(listing).filter(({ path }) => !auxiliary.test(path));
  // Dockerfiles and pages are used only if there is nothing more specific.
  const programs = await detectIn(folders, [fromProcfile, fromPackage, fromGoModule, fromPython]);
  if (programs.length > 0) return assignUniqueNames(programs.slice(0, mostServices));
  const images = await detectIn(folders, [fromDockerfile]);
  if (images.length > 0) return assignUniqueNames(images.slice(0, mostServices));
  return assignUniqueNames((await detectIn(folders, [fromPages])).slice(0, 1));
};

type Detector = (folder: Folder) => Promise<readonly Detected[]>;
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

const pathIn = ({ path }: Folder, name: string): string => (path === '' ? name : `${path}/${name}`);
const readIn = (folder: Folder, name: string): Promise<string> => folder.listing.read(pathIn(folder, name));

const fromProcfile: Detector = async (folder) => {
  if (!folder.names.has('Procfile')) return [];
  const file = pathIn(folder, 'Procfile');
  const install = await findInstall(folder.listing, folder.path);
  return parseProcfile(await readIn(folder, 'Procfile')).map(({ name, command }) => ({
    name,
    file,
    why: `process ${name}`,
    command: install === undefined ? command : `${install.intoPath} && ${command}`,
    install,
    listens: name === 'web',
  }));
};

const fromPackage: Detector = async (folder) => {
  if (!folder.names.has('package.json')) return [];
  const { start } = parsePackage(await readIn(folder, 'package.json'));
  // Without a script, `npm start` runs server.js.
  if (start === undefined && !folder.names.has('server.js')) return [];
  const install = await findInstall(folder.listing, folder.path);
  const command = `${install?.program ?? 'npm'} ${install?.program === 'bun' ? 'run start' : 'start'}`;
  return [{ file: pathIn(folder, 'package.json'), why: 'start script', command, install, listens: true }];
};

const fromGoModule: Detector = async (folder) => {
  if (!folder.names.has('go.mod')) return [];
  const common = { listens: true, slow: true };
  if (folder.names.has('main.go'))
    return [{ ...common, file: pathIn(folder, 'main.go'), why: 'program of a Go module', command: ['go', 'run', '.'] }];
  const commands = pathIn(folder, 'cmd/');
  const programs = folder.listing.files.filter(
    (file) => file.startsWith(commands) && /^[^/]+\/main\.go$/.test(file.slice(commands.length)),
  );
  return programs.map((file) => {
    const name = file.slice(commands.length, -'/main.go'.length);
    return { ...common, name, file, why: 'program of a Go module', command: ['go', 'run', `./cmd/${name}`] };
  });
};

const fromPython: Detector = async (folder) => {
  // `main.py` may be anything unless it comes with requirements.txt.
  const names = ['manage.py', 'app.py', ...(folder.names.has('requirements.txt') ? ['main.py'] : [])];
  const file = names.find((name) => folder.names.has(name));
  if (file === undefined) return [];
  const install = await findInstall(folder.listing, folder.path);
  const python = install?.program === 'python' ? '.venv/bin/python' : 'python3';
  const module = file.slice(0, -'.py'.length);
  const needs = (await readIn(folder, 'requirements.txt')).toLowerCase();
  const found = { file: pathIn(folder, file), install, listens: true };
  if (file === 'manage.py')
    return [{ ...found, why: 'Django', command: `${python} manage.py runserver --noreload 127.0.0.1:$PORT` }];
  if (/^uvicorn|^fastapi/m.test(needs))
    return [{ ...found, why: 'ASGI application', command: `${python} -m uvicorn ${module}:app --port $PORT` }];
  if (/^flask/m.test(needs)) return [{ ...found, why: 'Flask', command: `${python} -m flask --app ${module} run --port $PORT` }];
  return [{ ...found, why: 'Python program', command: `${python} ${file}` }];
};

/** Python is on nearly every machine; another server would have to be added to the repository. */
export const serveFiles = 'python3 -m http.server "$PORT" --bind 127.0.0.1';

const fromPages: Detector = async (folder) =>
  folder.names.has('index.html')
    ? [{ file: pathIn(folder, 'index.html'), why: 'static pages', command: serveFiles, listens: true }]
    : [];

const fromDockerfile: Detector = async (folder) => {
  if (!folder.names.has('Dockerfile')) return [];
  const command = parseDockerCommand(await readIn(folder, 'Dockerfile'));
  if (command === undefined) return [];
  return [{ file: pathIn(folder, 'Dockerfile'), why: 'command of the image', command, listens: true }];
};

const assignUniqueNames = (found: readonly DetectedIn[]): readonly ServiceCandidate[] => {
  const taken = new Set<string>();
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
