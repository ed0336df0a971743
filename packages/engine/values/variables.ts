import {
  type Failure,
  failure,
  isEphError,
  type ResolvedText,
  resolveVariables,
  type ServerVariables,
  type TemplateValues,
} from '@eph/contract';
import type { builtInVariables } from './component-layers.ts';
import { blame, type Variable } from './merged-service.ts';
import { type PrivateValue, resolveReference, type Surroundings } from './references.ts';

/** What one environment puts in for variables and references. */
export interface VariableWorld {
  readonly builtIn: { readonly [name in keyof typeof builtInVariables]: string };
  readonly server: ServerVariables;
  readonly template: TemplateValues;
  readonly around: Surroundings;
}

export type ResolvedVariable =
  /** With the parts that may be written down, where a secret went in. */
  | { readonly state: 'literal'; readonly value: string; readonly secret?: ResolvedText['parts'] }
  | { readonly state: 'private'; readonly value: PrivateValue }
  | { readonly state: 'left-out' }
  | { readonly state: 'waiting'; readonly reason: string }
  | { readonly state: 'faulty'; readonly fault: Failure };

/** What a component finds in a variable of its own. Text that comes from a source or a server is put in as it is, never read again. */
export const resolveVariable = ({ name, layer, said }: Variable, world: VariableWorld): ResolvedVariable => {
  switch (said.kind) {
    case 'built-in':
      return { state: 'literal', value: world.builtIn[name as keyof typeof builtInVariables] };
    case 'text':
      return resolveText(said.text, world, (message) => blame(layer, ['env', name], message));
    case 'malformed':
      return { state: 'faulty', fault: blame(layer, ['env', name], said.fault) };
    case 'left-out':
      return { state: 'left-out' };
    case 'reference': {
      const resolved = resolveReference(said.reference, world.around);
      if (resolved.state !== 'refused') return resolved;
      const { message } = blame(layer, ['env', name], resolved.message);
      return { state: 'faulty', fault: failure(resolved.code, message) };
    }
  }
};

const resolveText = (text: string, world: VariableWorld, toFault: (message: string) => Failure): ResolvedVariable => {
  try {
    const { text: value, secret, parts } = resolveVariables(text, world.server, world.template);
    return { state: 'literal', value, ...(secret ? { secret: parts } : {}) };
  } catch (error) {
    if (!isEphError(error)) throw error;
    return { state: 'faulty', fault: toFault(error.message) };
  }
};
