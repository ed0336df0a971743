import { type Command, failure, findGlob, type Source, type Trigger } from '@eph/contract';
import { filterByPaths } from './changed-paths.ts';
import { appliesTo, beginsWith, findShortCommand } from './commands.ts';
import type { Answer, Generator, SourceFacts } from './generator.ts';
import { printName, printNames, printSource } from './printed-names.ts';

type TriggerOf<Type extends Trigger['type']> = Extract<Trigger, { readonly type: Type }>;

const refuse = (because: string): Answer & { wanted: false } => ({ wanted: false, because });

const notAPullRequest = (source: Source): Answer => refuse(`${printSource(source.ref)} is not a pull request`);

export const prLabelGenerator: Generator = {
  type: 'pr_label',
  wants(source, trigger, facts = {}) {
    if (source.pull === undefined || trigger.type !== 'pr_label') return notAPullRequest(source);
    const { labels } = source.pull;
    const label = trigger.labels.find((one) => labels.includes(one));
    const who = printSource(source.ref);
    if (label === undefined) return refuse(`${who} carries none of the labels ${printNames(trigger.labels)}`);
    const because = `${who} carries label ${printName(label)} (trigger pr_label)`;
    return filterByPaths({ wanted: true, because, checks: trigger.wait_for_checks ?? [] }, source, trigger, facts);
  },
};

export const autoGenerator: Generator = {
  type: 'auto',
  wants(source, trigger, facts = {}) {
    if (trigger.type !== 'auto') return notAPullRequest(source);
    return filterByPaths(wantsAutomatically(source, trigger), source, trigger, facts);
  },
};

const wantsAutomatically = ({ ref, pull }: Source, { branches, ignore_draft: ignoresDrafts }: TriggerOf<'auto'>): Answer => {
  const who = printSource(ref);
  if (pull === undefined && ref.kind !== 'branch') return refuse(`${who} is neither a pull request nor a branch`);
  if (pull?.draft === true && ignoresDrafts === true) return refuse(`${who} is a draft`);
  if (branches === undefined) {
    // Without a list, the main branch and every stale branch would get an environment.
    if (pull === undefined) return refuse(`${who} is not a pull request, and trigger auto names no branches`);
    return { wanted: true, because: `${who} is open (trigger auto)` };
  }
  const branch = pull?.head ?? ref.name;
  const from = pull === undefined ? who : `${who} from branch ${printName(branch)}`;
  const pattern = findGlob(branch, branches);
  if (pattern === undefined) return refuse(`${from} matches none of ${printNames(branches)}`);
  return { wanted: true, because: `${from} matches ${printName(pattern)} (trigger auto)` };
};

export const prCommentGenerator: Generator = {
  type: 'pr_comment',
  wants(source, trigger, facts = {}) {
    if (source.pull === undefined || trigger.type !== 'pr_comment') return notAPullRequest(source);
    return filterByPaths(decideByCommands(source, trigger, facts), source, trigger, facts);
  },
};

const decideByCommands = (source: Source, { patterns }: TriggerOf<'pr_comment'>, { commands }: SourceFacts): Answer => {
  const who = printSource(source.ref);
  if (commands === undefined) {
    const because = `the comments on ${who} were not read`;
    return { wanted: 'unknown', because, fault: failure('forge.incomplete', because), lacks: 'commands' };
  }
  // A command that was found does not count either: a later one may ask for something else.
  if (!commands.complete) {
    const fault = commands.faults[0] ?? failure('forge.incomplete', `only some of the comments on ${who} could be read`);
    return { wanted: 'unknown', because: `the comments on ${who} could not all be read: ${fault.message}`, fault };
  }
  const matching = commands.items.filter((one) => patterns.some((pattern) => beginsWith(one, pattern)));
  const command = matching.findLast((one) => one.mayWrite && patterns.some((pattern) => appliesTo(one, pattern, source)));
  if (command === undefined) {
    const short = findShortCommand(matching, patterns, source);
    return { ...refuse(explainRefusal(matching.at(-1), source, patterns)), ...(short && { short }) };
  }
  const at = command.commit === source.commit ? null : command.commit;
  return { wanted: true, because: `${describe(command, source)} (trigger pr_comment)`, command, ...(at !== null && { at }) };
};

const describe = (command: Command, source: Source): string =>
  `${printName(command.author)} wrote ${printName(command.text)} on ${printSource(source.ref)}`;

/** Commands take no options but `--image`; their authors are told so. */
export const noteUnsupportedOptions = ({ text }: Command): readonly string[] => {
  const options = text.split(/\s+/).filter((word) => word.startsWith('--') && !word.startsWith('--image='));
  return options.length === 0 ? [] : [`${printNames(options)} was ignored: commands take no option but --image`];
};

const explainRefusal = (last: Command | undefined, source: Source, patterns: readonly string[]): string => {
  if (last === undefined) return `nobody wrote ${printNames(patterns)} on ${printSource(source.ref)}`;
  const what = describe(last, source);
  if (!last.mayWrite) return `${what} without write access`;
  if (last.commit === null) return `${what}, but its commit is unknown`;
  if (last.commit === source.commit) return `${what}, which does not name the whole commit; on a fork it must`;
  return `${what} for commit ${last.commit.slice(0, 12)}, which is no longer its head`;
};
