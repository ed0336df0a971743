import { Document, type Node } from 'yaml';
import type { z } from 'zod';
import { describeIssues } from './issues.ts';

/** What is wrong with a value that was merged from several files, so that no line of one text is at fault. */
export interface ValueFault {
  readonly path: readonly string[];
  readonly message: string;
}

export const findValueFaults = (schema: z.ZodType, value: unknown): readonly ValueFault[] => {
  const { error } = schema.safeParse(value);
  if (error === undefined) return [];
  const root = new Document(value).contents as Node;
  return error.issues.flatMap((issue) => {
    const path = issue.path.map(String);
    return describeIssues([issue], schema, root, value).map(({ message }, index) => {
      const unknown = issue.code === 'unrecognized_keys' ? issue.keys[index] : undefined;
      return { path: unknown === undefined ? path : [...path, unknown], message };
    });
  });
};
