import type { Source, Trigger } from '@eph/contract';
import type { Generator } from './generator.ts';

export interface Decision {
  readonly wanted: boolean;
  readonly because: string;
}

/** The first trigger that wants the source decides; if none does, the reasons of all are the reason. */
export const decide = (source: Source, triggers: readonly Trigger[], generators: readonly Generator[]): Decision => {
  const refusals: string[] = [];
  for (const trigger of triggers) {
    const generator = generators.find((one) => one.type === trigger.type);
    if (generator === undefined) {
      refusals.push(`nothing here understands trigger ${trigger.type}`);
      continue;
    }
    const answer = generator.wants(source, trigger);
    if (answer.wanted) return answer;
    refusals.push(answer.because);
  }
  return { wanted: false, because: refusals.join('; ') };
};
