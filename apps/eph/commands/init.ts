import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { parseSpec, printFault } from '@eph/contract';
import { CommandFailure } from '../command-failure.ts';
import { renderNotices } from '../config-view.ts';
import type { LocalContext } from '../context.ts';
import { type Discovery, describeFound, discover, type FoundFile } from '../init/discovery.ts';
import { defaultsPrompter, describeMissing, propose } from '../init/proposal.ts';
import { printSpec } from '../init/spec-text.ts';
import type { Prompter } from '../prompter.ts';
import { safeLine } from '../safe-text.ts';

export interface InitOptions {
  readonly yes?: boolean;
  readonly force?: boolean;
}

const file = 'eph.yaml';

export const init = async (context: LocalContext, options: InitOptions): Promise<void> => {
  const { out, json } = context;
  const { force = false } = options;
  const folder = context.folder();
  const path = join(folder, file);
  if (!force && existsSync(path)) throw alreadyExists();
  const discovery = await discover(folder);
  const found = describeFound(discovery);
  if (!json) await out.lines([...renderFound(found, discovery), ...renderPlace(folder, discovery), '']);

  const prompter = await findPrompter(context, options);
  const proposal = await propose(prompter ?? defaultsPrompter, discovery);
  const text = printSpec(proposal, discovery);
  const notices = checkProposal(text);
  if (!json) await out.lines([...(prompter === undefined ? [] : ['']), ...indent(text), '']);
  if (prompter !== undefined && !(await prompter.confirm(`Write this to ${file}?`)))
    throw new CommandFailure('cli.cancelled', 'Nothing was written.');
  await write(path, text, force);

  const missing = describeMissing(proposal, discovery);
  if (json) await out.json({ file, provider: proposal.runner.provider, found, missing, notices, content: text });
  else {
    const remarks = [...renderNotices(out, file, notices), ...renderMissing(missing)];
    await out.lines([`Wrote ${file}.`, ...remarks, '', ...nextSteps(proposal.branches)]);
  }
};

const alreadyExists = (): CommandFailure =>
  new CommandFailure('cli.exists', `${file} already exists. Check it with \`eph config validate\`, or replace it with --force.`);

const findPrompter = async (
  { out, json, openPrompter }: LocalContext,
  { yes = false }: InitOptions,
): Promise<Prompter | undefined> => {
  if (yes || json) return undefined;
  const prompter = await openPrompter();
  if (prompter === undefined) await out.lines(['Not on a terminal: all proposals are accepted, as with --yes.', '']);
  return prompter;
};

const renderFound = (found: readonly FoundFile[], { cut }: Discovery): string[] => {
  const width = Math.max(0, ...found.map((one) => one.file.length));
  return [
    found.length === 0 ? 'Found no file that says how to start or deploy this.' : 'Found:',
    ...found.map((one) => `  ${safeLine(one.file.padEnd(width))}  ${safeLine(one.what)}`),
    ...(cut ? ['Only the upper folders were searched.'] : []),
  ];
};

const renderMissing = (missing: readonly string[]): string[] =>
  missing.length === 0 ? [] : ['', `Not found, to be completed in ${file}:`, ...missing.map((one) => `  ${safeLine(one)}`)];

const renderPlace = (folder: string, { root }: Discovery): string[] => {
  if (root === folder) return [];
  const remark =
    root === undefined
      ? `This folder is not in a Git repository; ephd reads ${file} from commits.`
      : `ephd reads ${file} from the root of the repository, which is ${relative(folder, root)}.`;
  return ['', safeLine(remark)];
};

/** A proposal is always valid; this check catches bugs in eph. */
const checkProposal = (text: string) => {
  const parsed = parseSpec(new TextEncoder().encode(text), file);
  if (parsed.ok) return parsed.notices;
  const faults = parsed.faults.map(printFault).join('\n');
  throw new CommandFailure('internal', `The proposed file is invalid and was not written:\n${faults}`);
};

const indent = (text: string): string[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => (line === '' ? '' : `  ${safeLine(line)}`));

const write = async (path: string, text: string, force: boolean): Promise<void> => {
  try {
    await writeFile(path, text, { flag: force ? 'w' : 'wx' });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    // It was created while the questions were answered.
    if (code === 'EEXIST') throw alreadyExists();
    throw new CommandFailure('cli.unwritable', `${file} cannot be written: ${message}.`, { cause: error });
  }
};

const nextSteps = (branches: string): string[] => {
  const branch = branches.replace(/\*+$/, 'try-eph');
  const target = /^[\w./-]+$/.test(branch) ? branch : '<a branch that matches>';
  return [
    'Next:',
    '  eph config validate',
    `  git add ${file} && git commit -m "Add ${file}"`,
    `  git push origin HEAD:refs/heads/${target}`,
    '  eph status --watch',
  ];
};
