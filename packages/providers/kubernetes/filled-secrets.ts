import { fillInParts, namespacePlaceholder, type ResolvedComponent, variableSecret } from '@eph/contract';
import type { KubeObject } from '@eph/kube/object';
import { encode } from './secret-data.ts';
import type { KubernetesValues } from './values.ts';

/** What goes into secrets, as it is now. */
export type Filling = Parameters<typeof fillInParts>[1] & { readonly namespace: string };

type Content = string | Parameters<typeof fillInParts>[0];

/** The variables of a component that go in at a start. */
export const computeVariableSecret = (
  { name }: Pick<ResolvedComponent, 'name'>,
  { secretEnv = {} }: Pick<KubernetesValues, 'secretEnv'>,
  filling: Filling,
): KubeObject | undefined =>
  Object.keys(secretEnv).length === 0 ? undefined : secretOf(variableSecret(name), secretEnv, filling);

/** Those of `kubernetes.secrets`. */
export const computeSecrets = ({ secrets = {} }: Pick<KubernetesValues, 'secrets'>, filling: Filling): readonly KubeObject[] =>
  Object.entries(secrets).map(([name, contents]) => secretOf(name, contents, filling));

const secretOf = (name: string, contents: { readonly [key: string]: Content }, filling: Filling): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name },
  type: 'Opaque',
  data: Object.fromEntries(Object.entries(contents).map(([key, content]) => [key, encode(fill(content, filling))])),
});

const fill = (content: Content, filling: Filling): string => {
  const text = typeof content === 'string' ? content : fillInParts(content, filling);
  return text.replaceAll(namespacePlaceholder, filling.namespace);
};
