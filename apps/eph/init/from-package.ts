import { type Detected, type Detector, type Folder, pathIn, quote, readIn, type Step } from './detector.ts';
import { findPortArguments, findPortInSources } from './find-port.ts';
import { findNodeInstall, findWorkspaceRoot, type NodeInstall, readWorkspaces } from './installs.ts';
import { type Package, parsePackage } from './package-json.ts';

/** The packages of a workspace are services of their own, and its root only if none of them is. */
export const fromPackage: Detector = async (folder) =>
  (await readWorkspaces(folder.listing, folder.path)).length > 0 ? [] : fromAnyPackage(folder);

export const fromAnyPackage: Detector = async (folder) => {
  if (!folder.names.has('package.json')) return [];
  const own = parsePackage(await readIn(folder, 'package.json'));
  const chosen = await choosePrograms(folder, own);
  if (chosen.length === 0) return [];
  const install = await findNodeInstall(folder.listing, folder.path);
  return Promise.all(chosen.map((program) => toDetected(folder, own, install, program)));
};

interface Program {
  readonly name?: string;
  readonly why: string;
  /** A script of the package, or a command. */
  readonly script?: string;
  readonly command?: string;
}

const choosePrograms = async (folder: Folder, own: Package): Promise<readonly Program[]> => {
  const { scripts } = own;
  const first = scripts.has('start') ? startScript : await chooseOther(folder, own);
  if (first?.script === undefined) return first === undefined ? [] : [first];
  const line = scripts.get(first.script) ?? '';
  const parts = [...scripts.keys()].flatMap(toPart);
  if (startsSeveral(line) && parts.length > 0) return parts.toSorted((a, b) => Number(b.isPage) - Number(a.isPage));
  // A development server shows pages; the API that they call is a script beside it.
  const hasOwnPort = (findPortArguments(line) ?? '') !== '';
  return [first, ...(hasOwnPort ? parts.filter(({ isPage, script }) => !isPage && script !== first.script) : [])];
};

const startScript: Program = { why: 'start script', script: 'start' };

const chooseOther = async (folder: Folder, own: Package): Promise<Program | undefined> => {
  const { main, scripts } = own;
  if (main !== undefined && (await isProgram(folder, main, own)))
    return { why: `main of the package`, command: `node ${quote(main)}` };
  const dev = scripts.get('dev');
  if (dev !== undefined && !onlyBuilds.test(dev)) return { why: 'dev script', script: 'dev' };
  // Without a script, `npm start` runs server.js.
  if (folder.names.has('server.js')) return { why: 'server.js', command: 'npm start' };
  for (const name of wellKnown) if (await listensIn(folder, name)) return { why: name, command: `node ${name}` };
  return undefined;
};

const wellKnown = ['index.js', 'index.mjs', 'app.js', 'src/server.js', 'src/index.js', 'src/app.js', 'src/main.js'];
const onlyBuilds =
  /^(?:(?:npx|cross-env) )?(?:tsc|tsup|tsdown|rollup|esbuild|swc|babel|unbuild|jest|vitest|mocha|ava|eslint|tailwindcss|sass|gulp|echo|webpack(?! serve)|vite build)\b/;

/** The main file of a library is there for others to import. */
const isProgram = async (folder: Folder, main: string, { isLibrary }: Package): Promise<boolean> => {
  if (!folder.listing.files.includes(pathIn(folder, main)) || !/\.[cm]?js$/.test(main)) return false;
  if (await listensIn(folder, main)) return true;
  return !isLibrary && (await findWorkspaceRoot(folder.listing, folder.path)) === undefined;
};

const listensIn = async (folder: Folder, name: string): Promise<boolean> =>
  folder.listing.files.includes(pathIn(folder, name)) && /\.listen\(|\bcreateServer\b|\bPORT\b/.test(await readIn(folder, name));

/** `dev` often starts the pages and the API at once, and a script for each has its name. */
const startsSeveral = (line: string): boolean => /\b(?:concurrently|npm-run-all|run-p|run-s)\b|(?<!&)&(?!&)/.test(line);

const toPart = (script: string): readonly (Program & { readonly isPage: boolean })[] => {
  const [, page, api] = /^(?:(?:dev|start)[:-])?(?:(client|web|frontend|ui)|(server|api|backend))$/.exec(script) ?? [];
  const name = page ?? api;
  return name === undefined ? [] : [{ name, why: `${script} script`, script, isPage: page !== undefined }];
};

const toDetected = async (
  folder: Folder,
  { scripts }: Package,
  { program, step }: NodeInstall,
  { name, why, script, command: own }: Program,
): Promise<Detected> => {
  const line = (script === undefined ? own : scripts.get(script)) ?? '';
  const port = findPortArguments(line) ?? (await findPortInSources(folder.listing, folder.path));
  const command = own ?? runScript(program, script ?? '');
  const separator = script !== undefined && program === 'npm' ? '-- ' : '';
  return {
    ...(name === undefined ? {} : { name }),
    file: pathIn(folder, 'package.json'),
    why,
    command: port === undefined || port === '' ? command : `${command} ${separator}${port}`,
    steps: [...(step === undefined ? [] : [step]), ...(needsBuild.test(line) ? buildSteps(folder, scripts, program) : [])],
    listens: true,
    knowsPort: port !== undefined,
  };
};

const runScript = (program: NodeInstall['program'], script: string): string =>
  script === 'start' && program !== 'bun' ? `${program} start` : `${program} run ${script}`;

/** Starts what a build has made. */
const needsBuild = /\b(?:next|nuxt|gatsby) (?:start|serve)\b|\bpreview\b|(?:^|[\s./])(?:dist|build|out|output)(?:[\s/]|$)/;

export const buildSteps = ({ path }: Folder, scripts: Package['scripts'], program: NodeInstall['program']): readonly Step[] =>
  scripts.has('build') ? [{ directory: path, command: `${program} run build`, what: 'built with its build script' }] : [];
