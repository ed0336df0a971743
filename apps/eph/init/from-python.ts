import { type Detected, type Detector, type Folder, pathIn, readIn } from './detector.ts';
import { findPortInSources, sourcesIn } from './find-port.ts';
import { findPythonInstall } from './installs.ts';
import { parseProject, parseRequirements } from './python-project.ts';

export const fromPython: Detector = async (folder) => {
  const { needs, scripts } = await readProject(folder);
  const step = await findPythonInstall(folder.listing, folder.path);
  const python = step === undefined ? 'python3' : '.venv/bin/python';
  const common = { steps: step === undefined ? [] : [step], listens: true, knowsPort: true };
  const found = (file: string, why: string, command: string): readonly Detected[] => [
    { ...common, file: pathIn(folder, file), why, command },
  ];
  if (folder.names.has('manage.py'))
    return found('manage.py', 'Django', `${python} manage.py runserver --noreload 127.0.0.1:$PORT`);
  if (['fastapi', 'uvicorn', 'starlette'].some((name) => needs.has(name))) {
    const app = await findApplication(folder, /^(\w+)\s*(?::\s*\w+\s*)?=\s*(?:\w+\.)?(?:FastAPI|Starlette)\(/m);
    if (app !== undefined)
      return found(app.file, 'ASGI application', `${app.path}${python} -m uvicorn ${app.module}:${app.name} --port $PORT`);
  }
  if (needs.has('flask')) {
    const app = await findApplication(folder, /^(\w+)\s*=\s*(?:\w+\.)?Flask\(|^def create_app\(/m);
    if (app !== undefined) return found(app.file, 'Flask', `${app.path}${python} -m flask --app ${app.module} run --port $PORT`);
  }
  const port = await findPortInSources(folder.listing, folder.path);
  const program = (file: string, why: string, command: string): readonly Detected[] =>
    found(file, why, port === undefined || port === '' ? command : `${command} ${port}`).map((one) => ({
      ...one,
      knowsPort: port !== undefined,
    }));
  const script = scripts.find((name) => /^(?:serve|server|start|web)$/.test(name)) ?? scripts[0];
  if (script !== undefined && step !== undefined && installsProject.test(step.command))
    return program('pyproject.toml', `script ${script}`, `.venv/bin/${script}`);
  // `main.py` may be anything unless it comes with a list of packages.
  const file = ['app.py', ...(step === undefined ? [] : ['main.py', 'server.py'])].find((name) => folder.names.has(name));
  return file === undefined ? [] : program(file, 'Python program', `${python} ${file}`);
};

const installsProject = /install \.$|^uv |poetry/;

const readProject = async (folder: Folder) => {
  const project = parseProject(folder.names.has('pyproject.toml') ? await readIn(folder, 'pyproject.toml') : '');
  const listed = parseRequirements(folder.names.has('requirements.txt') ? await readIn(folder, 'requirements.txt') : '');
  return { scripts: project.scripts, needs: new Set([...project.needs, ...listed]) };
};

interface Application {
  readonly file: string;
  readonly module: string;
  readonly name: string;
  /** Precedes the command if the module is not where Python looks for it. */
  readonly path: string;
}

const mostRead = 40;

/** The file that creates the application, or else the one that usually does. */
const findApplication = async (folder: Folder, creation: RegExp): Promise<Application | undefined> => {
  const start = pathIn(folder, '').length;
  const files = sourcesIn(folder.listing, folder.path).map((file) => file.slice(start));
  const modules = files.filter((file) => /^(?:[A-Za-z_]\w*\/)*[A-Za-z_]\w*\.py$/.test(file));
  for (const file of modules.slice(0, mostRead)) {
    const match = creation.exec(await readIn(folder, file));
    if (match !== null) return toApplication(file, match[1]);
  }
  const usual = ['app.py', 'main.py', 'app/main.py', 'app/__init__.py'].find((file) => modules.includes(file));
  return usual === undefined ? undefined : toApplication(usual);
};

const toApplication = (file: string, name = 'app'): Application => {
  const isBelowSource = file.startsWith('src/');
  const path = isBelowSource ? file.slice('src/'.length) : file;
  const module = path
    .replace(/\.py$/, '')
    .replace(/\/__init__$/, '')
    .replaceAll('/', '.');
  return { file, module, name, path: isBelowSource ? 'PYTHONPATH=src ' : '' };
};
