import { parseArgs } from 'node:util';
import { allParts } from './all-parts.ts';
import { getCommand, type Program } from './part.ts';

const help = `Real components for tests and benchmarks.

  npm run parts -- --list                 what is here, and what is missing and why
  npm run parts -- --get postgres nginx   obtain these; those that are here already are left alone
  npm run parts -- --get all              obtain everything but the extended parts
  npm run parts -- --help

Parts: ${allParts.map(({ name }) => name).join(', ')}

Tests never install anything. A suite whose part is missing is skipped and counted; with EPH_PARTS=require it fails,
except if the part is extended.
EPH_PARTS=none leaves out the parts that are here, too.
Exit status: 0 done, 1 a part could not be obtained, 2 the command was not understood.`;

const list = (): void => {
  for (const part of allParts) {
    const finding = part.find();
    const tier = part.tier === undefined ? '' : ` (${part.tier})`;
    console.log(`${finding.found ? 'here   ' : 'missing'}  ${part.name.padEnd(12)} ${part.purpose}${tier}`);
    console.log(`${' '.repeat(22)}${finding.found ? `${finding.where} (${finding.version})` : finding.reason}`);
    if (!finding.found) console.log(`${' '.repeat(22)}${getCommand(part.name)}`);
  }
};

/** True if the part is installed afterwards. */
const get = async (part: Program, signal: AbortSignal): Promise<boolean> => {
  const before = part.find();
  if (before.found) {
    console.log(`${part.name}: already here: ${before.where} (${before.version})`);
    return true;
  }
  console.log(`${part.name}: missing (${before.reason}); obtaining it`);
  try {
    await part.get((line) => console.log(`${part.name}: ${line}`), signal);
  } catch (error) {
    console.error(`${part.name}: not obtained: ${error instanceof Error ? error.message : String(error)}`);
    return false;
  }
  const after = part.find();
  console.log(
    after.found ? `${part.name}: here: ${after.where} (${after.version})` : `${part.name}: still missing: ${after.reason}`,
  );
  return after.found;
};

const getAll = async (names: readonly string[]): Promise<number> => {
  const unknown = names.filter((name) => name !== 'all' && !allParts.some((part) => part.name === name));
  if (unknown.length > 0 || names.length === 0) {
    console.error(names.length === 0 ? 'Which part?' : `There is no part called ${unknown.join(' or ')}.`);
    console.error(`Known are: ${allParts.map(({ name }) => name).join(', ')}, and all.`);
    return 2;
  }
  const abort = new AbortController();
  process.once('SIGINT', () => abort.abort());
  process.once('SIGTERM', () => abort.abort());
  let missing = 0;
  for (const part of allParts)
    if (names.includes(part.name) || (names.includes('all') && part.tier === undefined))
      missing += (await get(part, abort.signal)) ? 0 : 1;
  return missing === 0 ? 0 : 1;
};

const main = async (args: readonly string[]): Promise<number> => {
  try {
    const options = { list: { type: 'boolean' }, get: { type: 'boolean' }, help: { type: 'boolean' } } as const;
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    if (values.get === true) return await getAll(positionals);
    if (values.list === true) list();
    else console.log(help);
    return 0;
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${help}`);
    return 2;
  }
};

process.exitCode = await main(process.argv.slice(2));
