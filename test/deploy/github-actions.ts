import { data, Evaluator, Lexer, Parser } from '@actions/expressions';
import type { NoOperationTraceWriter, parseWorkflow } from '@actions/workflow-parser';
import type { parseAction } from '@actions/workflow-parser/actions/action-parser';
import { build } from 'esbuild';

/** The parsers that GitHub publishes for editors: they find what GitHub would refuse. */
interface Parsers {
  readonly NoOperationTraceWriter: typeof NoOperationTraceWriter;
  readonly parseWorkflow: typeof parseWorkflow;
  readonly parseAction: typeof parseAction;
}

/** The faults of a workflow, or of an `action.yml`. */
export const findFaults = async (kind: 'workflow' | 'action', content: string): Promise<readonly string[]> => {
  const github = await (parsers ??= loadParsers());
  const file = { name: `${kind}.yml`, content };
  const trace = new github.NoOperationTraceWriter();
  const { context } = kind === 'action' ? github.parseAction(file, trace) : github.parseWorkflow(file, trace);
  return context.errors.getErrors().map(({ message }) => message);
};

/** What `${{ … }}` becomes in a text. */
export const fillExpressions = (text: string, contexts: Readonly<Record<string, unknown>>): string =>
  text.replaceAll(/\$\{\{(.*?)\}\}/gs, (_, expression: string) => {
    const { tokens } = new Lexer(expression.trim()).lex();
    const parsed = new Parser(tokens, Object.keys(contexts), []).parse();
    const known: unknown = JSON.parse(JSON.stringify(contexts), data.reviver);
    if (!(known instanceof data.Dictionary)) throw new Error('contexts must be maps');
    return new Evaluator(parsed, known).evaluate().coerceString();
  });

let parsers: Promise<Parsers> | undefined;

/** The package imports JSON in a way that only bundlers accept. */
const loadParsers = async (): Promise<Parsers> => {
  const contents = `
    export { NoOperationTraceWriter, parseWorkflow } from '@actions/workflow-parser';
    export { parseAction } from '@actions/workflow-parser/actions/action-parser';`;
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: import.meta.dirname },
    bundle: true,
    format: 'esm',
    platform: 'browser',
    write: false,
  });
  const [bundle] = outputFiles;
  return (await import(`data:text/javascript,${encodeURIComponent(bundle?.text ?? '')}`)) as Parsers;
};
