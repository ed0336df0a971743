import { closest, type Failure, failure, printFault, resolveVariables, type ServerVariables, toFailure } from '@eph/contract';
import type { SpecFile } from './component-layers.ts';

/** What `kubernetes.context` says: the name of a provider, or why it says nothing. */
export type KubernetesContext = { readonly name: string } | { readonly fault: Failure };

const path = ['kubernetes', 'context'];

/** Undefined where the file names no cluster. Without `variables`, which not everybody knows, it names none if it needs them. */
export const readContext = (
  file: Pick<SpecFile, 'spec' | 'places'>,
  variables: ServerVariables | undefined,
): KubernetesContext | undefined => {
  const context = file.spec.kubernetes?.context;
  if (context === undefined) return undefined;
  try {
    const { text: name, secret } = resolveVariables(context, variables ?? {}, {});
    return secret ? { fault: faultAt(file, 'spec.invalid', 'a secret names nothing') } : { name };
  } catch (error) {
    const { code, message } = toFailure(error);
    return variables === undefined ? undefined : { fault: faultAt(file, code, message) };
  }
};

export const isOfContext = (
  { name, type }: { readonly name: string; readonly type: string },
  context: KubernetesContext | undefined,
): boolean => type !== 'kubernetes' || context === undefined || ('name' in context && context.name === name);

/** Why none of these clusters, which the file asks for elsewhere by `asked`, is the one that it names. */
export const refuseContext = (
  file: Pick<SpecFile, 'places'>,
  context: KubernetesContext,
  asked: string,
  clusters: readonly string[],
): Failure => {
  if ('fault' in context) return context.fault;
  const { name } = context;
  if (clusters.includes(name))
    return faultAt(file, 'spec.invalid', `names cluster ${name}, and the file asks for provider ${asked}; leave one of them out`);
  const near = closest(name, clusters);
  const meant = near === undefined ? '' : `did you mean ${near}? `;
  return faultAt(file, 'provider.unknown', `there is no cluster ${name} here; ${meant}this server has ${clusters.join(', ')}`);
};

const faultAt = ({ places }: Pick<SpecFile, 'places'>, code: Failure['code'], message: string): Failure => {
  const place = places.at(path) ?? { line: 1, column: 1 };
  return failure(code, printFault({ file: places.file, ...place, path: path.join('.'), message }));
};
