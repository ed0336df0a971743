import { findGlob, type SourceKind } from '@eph/contract';
import { filterByPaths } from './changed-paths.ts';
import type { Generator } from './generator.ts';
import { printName, printNames, printSource } from './printed-names.ts';

const refTrigger = (type: 'git_branch' | 'git_tag', kind: SourceKind): Generator => ({
  type,
  wants(source, trigger, facts = {}) {
    const who = printSource(source.ref);
    if (source.ref.kind !== kind) return { wanted: false, because: `${who} is not a ${kind}` };
    const patterns = trigger.type === type ? trigger.patterns : [];
    const pattern = findGlob(source.ref.name, patterns);
    if (pattern === undefined) return { wanted: false, because: `${who} matches none of ${printNames(patterns)}` };
    const because = `${who} matches ${printName(pattern)} (trigger ${type})`;
    return filterByPaths({ wanted: true, because }, source, trigger, facts);
  },
});

export const gitBranchGenerator = refTrigger('git_branch', 'branch');
export const gitTagGenerator = refTrigger('git_tag', 'tag');
