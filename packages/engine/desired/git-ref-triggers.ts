import type { SourceKind } from '@eph/contract';
import type { Generator } from './generator.ts';
import { matchesGlob } from './glob.ts';

const refTrigger = (type: 'git_branch' | 'git_tag', kind: SourceKind): Generator => ({
  type,
  wants(source, trigger) {
    if (source.ref.kind !== kind) return { wanted: false, because: `${source.ref.kind} ${source.ref.name} is not a ${kind}` };
    const patterns = trigger.type === type ? trigger.patterns : [];
    const pattern = patterns.find((one) => matchesGlob(source.ref.name, one));
    return pattern === undefined
      ? { wanted: false, because: `${kind} ${source.ref.name} matches none of ${patterns.join(', ')}` }
      : { wanted: true, because: `${kind} ${source.ref.name} matches ${pattern} (trigger ${type})` };
  },
});

export const gitBranchGenerator = refTrigger('git_branch', 'branch');
export const gitTagGenerator = refTrigger('git_tag', 'tag');
