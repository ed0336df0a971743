import {
  type Failure,
  failure,
  isEphError,
  type ResolvedText,
  resolveVariables,
  type ServerVariables,
  type TemplateValues,
} from '@eph/contract';
import { blame, type Variable } from './merged-component.ts';
import { type Outputs, type PrivateValue, type ReferenceContext, resolveReference } from './references.ts';

export interface VariableContext {
  readonly server: ServerVariables;
  readonly template: TemplateValues;
  /** The same for built-in variables, which no file has written. */
  readonly builtIn: TemplateValues;
  readonly references: ReferenceContext;
}

export type ResolvedVariable =
  /** With the parts that may be written down, where something goes in only at a start. */
  | {
      readonly state: 'literal';
      readonly value: string;
      readonly secret?: boolean;
      readonly late?: ResolvedText['parts'];
      /** Of the component that it refers to. */
      readonly outputs?: Outputs;
    }
  | { readonly state: 'private'; readonly value: PrivateValue }
  | { readonly state: 'left-out' }
  | { readonly state: 'waiting'; readonly reason: string }
  | { readonly state: 'faulty'; readonly fault: Failure };

/** Text that comes from a source or a server is put in as it is, never read again. */
export const resolveVariable = ({ name, layer, content }: Variable, context: VariableContext): ResolvedVariable => {
  switch (content.kind) {
    case 'text': {
      const { builtIn, server, template } = context;
      const values = layer.source.layer === 'default' ? { server: {}, template: builtIn } : { server, template };
      return resolveText(content.text, values, (message) => blame(layer, ['env', name], message));
    }
    case 'malformed':
      return { state: 'faulty', fault: blame(layer, ['env', name], content.fault) };
    case 'left-out':
      return { state: 'left-out' };
    case 'reference': {
      const resolved = resolveReference(content.reference, context.references);
      if (resolved.state !== 'refused') return resolved;
      const { message } = blame(layer, ['env', name], resolved.message);
      return { state: 'faulty', fault: failure(resolved.code, message) };
    }
  }
};

const resolveText = (
  text: string,
  { server, template }: Pick<VariableContext, 'server' | 'template'>,
  toFault: (message: string) => Failure,
): ResolvedVariable => {
  try {
    const { text: value, secret, parts } = resolveVariables(text, server, template);
    const isLate = parts.some((part) => typeof part !== 'string');
    return { state: 'literal', value, ...(isLate ? { secret, late: parts } : {}) };
  } catch (error) {
    if (!isEphError(error)) throw error;
    return { state: 'faulty', fault: toFault(error.message) };
  }
};
