import { auxiliary, joinPath } from './detector.ts';
import type { FolderListing } from './folder-listing.ts';

/** Of development servers that would otherwise listen where `localhost` leads, which may be IPv6. */
const portAndHost = '--port $PORT --host 127.0.0.1';

/** What makes a program listen on PORT; empty if it reads the variable of itself. */
const knownPrograms: readonly (readonly [RegExp, string])[] = [
  [/^vite(?: (?:dev|serve|preview))?(?= -|$)/, portAndHost],
  [/^(?:webpack serve|webpack-dev-server|astro (?:dev|preview)|nuxi? (?:dev|preview)|ng serve)\b/, portAndHost],
  [/^(?:nuxt(?: dev| preview)?(?= -|$)|vue-cli-service serve\b|react-router dev\b|remix vite:dev\b)/, portAndHost],
  [/^next (?:dev|start)\b/, '-p $PORT'],
  [/^(?:react-scripts start|serve|gunicorn)\b/, ''],
  [/^http-server\b/, '-p $PORT -a 127.0.0.1'],
  [/^(?:flask\b.* run|uvicorn|hypercorn|fastapi (?:dev|run)|json-server)\b/, '--port $PORT'],
  [/^(?:\.?\/?bin\/)?(?:rails s(?:erver)?|puma|rackup)\b/, '-p $PORT'],
  [/^hugo server\b/, '--port $PORT --bind 127.0.0.1'],
  [/^streamlit run\b/, '--server.port $PORT --server.address 127.0.0.1'],
  [/^manage\.py runserver(?: --\S+)*$/, '127.0.0.1:$PORT'],
  [/^http\.server$/, '"$PORT" --bind 127.0.0.1'],
];

const variables = /^(?:cross-env |env )?(?:[A-Za-z_]\w*=\S* )*/;
const launchers =
  /^(?:(?:npx|yarn|pnpm exec|bunx|bundle exec|poetry run|uv run|exec|ruby|(?:\S+\/)?python3?(?: -[muB]+)*) |(?:\.\/)?node_modules\/\.bin\/)*/;

/** The arguments that a line for `sh` lacks. Undefined if its program is not known. */
export const findPortArguments = (line: string): string | undefined => {
  // Of several programs at once, nobody knows which one gets the arguments.
  if (/\|(?!\|)|(?<!&)&(?!&)|;/.test(line)) return undefined;
  if (/\bPORT\b/.test(line)) return '';
  const last = line.split('&&').at(-1)?.trim().replace(/\s+/g, ' ') ?? '';
  const program = last.replace(variables, '').replace(launchers, '');
  return knownPrograms.find(([expression]) => expression.test(program))?.[1];
};

const mostRead = 60;
const source = /\.(?:[cm]?[jt]sx?|py|go|rb|php|rs|java|kt|exs?)$/;

/** The same for a program that is written here: whether its sources read PORT or take a flag. */
export const findPortInSources = async (listing: FolderListing, directory: string): Promise<string | undefined> => {
  let flag: string | undefined;
  for (const file of sourcesIn(listing, directory).slice(0, mostRead)) {
    const text = await listing.read(file);
    if (/\bPORT\b/.test(text)) return '';
    flag ??= findFlag(text);
  }
  return flag;
};

export const sourcesIn = ({ files }: FolderListing, directory: string): readonly string[] => {
  const start = joinPath(directory, '');
  const below = files.filter((file) => (directory === '' || file.startsWith(start)) && source.test(file));
  return below.filter((file) => !auxiliary.test(file.slice(start.length)) && !/[._](?:test|spec)\.|(?:^|\/)test_/.test(file));
};

const findFlag = (text: string): string | undefined => {
  if (/["'`]--port\b/.test(text)) return '--port $PORT';
  const [, name] = /\bflag\.(?:String|Int|Uint)\("(port|addr|listen|bind)"/.exec(text) ?? [];
  if (name === undefined) return undefined;
  return name === 'port' ? '-port $PORT' : `-${name} 127.0.0.1:$PORT`;
};
