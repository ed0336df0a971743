import { EphError, findGlob, type Identity, type ProjectId, type ResolvedComponent } from '@eph/contract';
import type { Cluster } from '@eph/kube/cluster';
import { textAt } from '@eph/kube/fields';
import type { KubeObject } from '@eph/kube/object';
import { type KubernetesValues, refuse } from './values.ts';

/** Which secrets of the cluster the operator lets environments have. */
export interface CopyRule {
  readonly namespace: string;
  /** Patterns: `*` stands for anything. */
  readonly names: readonly string[];
  /** Patterns; absent for all projects. */
  readonly projects?: readonly string[];
}

type ReadSecret = (namespace: string, name: string) => Promise<KubeObject | undefined>;

export const secretsOf =
  ({ client }: Pick<Cluster, 'client'>, signal: AbortSignal): ReadSecret =>
  (namespace, name) =>
    client.get({ apiVersion: 'v1', kind: 'Secret' }, { namespace, name }, signal);

type Copies = NonNullable<KubernetesValues['copies']>;

/** Copies of `secrets.kubernetes`, as they are now, for `prepareObjects`. Only what a rule allows is read. */
export const copySecrets = async (
  component: ResolvedComponent,
  copies: Copies,
  rules: readonly CopyRule[],
  { project }: Pick<Identity, 'project'>,
  read: ReadSecret,
): Promise<readonly KubeObject[]> => {
  // Whoever opened it wrote what runs there.
  if (component.fromFork === true)
    throw refuse(component, 'a pull request from a fork gets no copies of secrets (secrets.kubernetes)');
  const wanted = copies.names.map((name) => ({ name, namespace: findNamespace(component, name, copies, rules, project) }));
  return await Promise.all(
    wanted.map(async ({ name, namespace }) => {
      const found = await read(namespace, name);
      if (found === undefined) throw missing(component, namespace, name);
      return copy(component, found, name);
    }),
  );
};

/**
 * Copies of those secrets for images that a rule allows. Others, and those that the environment brings itself, are no copies. A fork gets
 * none; its images may be public.
 */
export const copyPullSecrets = async (
  component: ResolvedComponent,
  { imagePullSecrets = [], objects, secrets = {}, copies }: KubernetesValues,
  rules: readonly CopyRule[],
  { project }: Pick<Identity, 'project'>,
  read: ReadSecret,
): Promise<readonly KubeObject[]> => {
  if (component.fromFork === true) return [];
  const own = new Set([
    ...objects.filter(({ kind }) => kind === 'Secret').map(({ metadata }) => metadata.name),
    ...Object.keys(secrets),
    ...(copies?.names ?? []),
  ]);
  const allowed = findPullSecrets(
    imagePullSecrets.filter((name) => !own.has(name)),
    rules,
    project,
  );
  return await Promise.all(
    allowed.map(async ({ namespace, name }) => {
      const found = await read(namespace, name);
      if (found === undefined) throw missing(component, namespace, name);
      if (textAt(found, 'type') !== pullSecretType)
        throw refuse(component, `secret ${name} is for images, and not of type ${pullSecretType}`);
      return copy(component, found, name);
    }),
  );
};

/** What those secrets hold that a rule allows, for the registries that images are looked for in. */
export const readPullSecrets = async (
  names: readonly string[],
  rules: readonly CopyRule[],
  project: ProjectId,
  read: ReadSecret,
): Promise<readonly string[]> => {
  const found = await Promise.all(findPullSecrets(names, rules, project).map(({ namespace, name }) => read(namespace, name)));
  return found.flatMap((secret) => {
    if (textAt(secret, 'type') !== pullSecretType) return [];
    return Buffer.from(textAt(secret, 'data', '.dockerconfigjson') ?? '', 'base64').toString();
  });
};

const pullSecretType = 'kubernetes.io/dockerconfigjson';

const findPullSecrets = (names: readonly string[], rules: readonly CopyRule[], project: ProjectId) =>
  [...new Set(names)].flatMap((name) => {
    const rule = rules.find((one) => allows(one, project, name));
    return rule === undefined ? [] : [{ namespace: rule.namespace, name }];
  });

/** Without `copy_from_namespace` it is the first that has a rule for the name. */
const findNamespace = (
  component: ResolvedComponent,
  name: string,
  { namespace }: Copies,
  rules: readonly CopyRule[],
  project: ProjectId,
): string => {
  const rule = rules.find((one) => (namespace === undefined || one.namespace === namespace) && allows(one, project, name));
  if (rule !== undefined) return rule.namespace;
  const from = namespace === undefined ? '' : ` of namespace ${namespace}`;
  const hint = `secrets: [{ namespace: ${namespace ?? '<namespace>'}, names: [${name}], projects: [${project}] }]`;
  throw refuse(
    component,
    `secret ${name}${from} may not be copied for project ${project}; an operator can allow it in the file of ephd with ${hint} at provider ${component.provider}`,
  );
};

const allows = ({ names, projects }: CopyRule, project: ProjectId, name: string): boolean =>
  findGlob(name, names) !== undefined && (projects === undefined || findGlob(project, projects) !== undefined);

const missing = ({ name: component }: ResolvedComponent, namespace: string, name: string): EphError =>
  new EphError('object.missing', `Component ${component} needs a copy of secret ${name}, and namespace ${namespace} has none.`);

/** These are no contents: the cluster makes them, or keeps books in them. */
const internalTypes = ['kubernetes.io/service-account-token', 'bootstrap.kubernetes.io/token', 'helm.sh/release.v1'];

const copy = (component: ResolvedComponent, found: KubeObject, name: string): KubeObject => {
  const type = textAt(found, 'type') ?? 'Opaque';
  if (internalTypes.includes(type)) throw refuse(component, `secret ${name} is of type ${type}, which cannot be copied`);
  const { data } = found;
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, type, ...(data !== undefined && { data }) };
};
