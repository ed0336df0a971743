import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

type Json = Readonly<Record<string, unknown>>;

interface ExampleSet {
  readonly name: string;
  readonly examples: readonly Json[];
}

let loaded: ReadonlyMap<string, readonly Json[]> | undefined;

/** A payload that GitHub once sent, of this action where there is one. */
export const webhookExample = (name: string, action: string | undefined): Json => {
  loaded ??= new Map(read().map((set) => [set.name, set.examples]));
  const examples = loaded.get(name) ?? [];
  const example = examples.findLast((one) => one['action'] === action) ?? examples.at(-1);
  if (example === undefined) throw new Error(`There is no example of the webhook ${name}.`);
  return action === undefined ? example : { ...example, action };
};

/** Four megabytes, only where webhooks are used. */
const read = (): readonly ExampleSet[] => {
  const require = createRequire(import.meta.url);
  return JSON.parse(readFileSync(require.resolve('@octokit/webhooks-examples'), 'utf8')) as readonly ExampleSet[];
};
