import { type Boundary, interrupt, record } from './step-watch.ts';

const stepWatch = new URL('./step-watch.ts', import.meta.url).href;

/** Arguments for Node that make the program kill itself at a boundary. */
export const interruptAt = (dataFolder: string, boundary: Boundary): readonly string[] =>
  preload(interrupt, dataFolder, boundary);

/** Arguments for Node that make the program write its steps to a file, one per line. */
export const recordSteps = (dataFolder: string, file: string): readonly string[] => preload(record, dataFolder, file);

/** Makes another process call this function before its program is loaded. */
const preload = <Args extends readonly unknown[]>({ name }: (...args: Args) => void, ...args: Args): readonly string[] => {
  const code = `import { ${name} } from '${stepWatch}'; ${name}(${args.map((one) => JSON.stringify(one)).join(', ')});`;
  return ['--import', `data:text/javascript,${encodeURIComponent(code)}`];
};
