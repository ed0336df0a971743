import {
  asList,
  asMap,
  asText,
  at,
  clusterScoped,
  type Failure,
  failure,
  isWorkload,
  type JsonMap,
  objectKindOf,
  type Policy,
  podTemplatePath,
  type RenderedObject,
} from '@eph/contract';
import type { MergedComponent } from './merged-component.ts';
import { usualKinds } from './object-kinds.ts';
import type { Stated } from './policy.ts';

/** Every object that files of the commit hold, by its kind. */
export const statedObjects = (components: readonly MergedComponent[]): readonly Stated<string>[] =>
  objectsOf(components).map((one) => ({ path: printObject(one), value: objectKindOf(one.object), where: () => placeOf(one) }));

/** What no policy allows. Without a list in any policy, the usual kinds are the list. */
export const findForbiddenObjects = (components: readonly MergedComponent[], policies: readonly Policy[]): readonly Failure[] => {
  const isListed = policies.some(({ limits }) => limits.objects !== undefined);
  return objectsOf(components).flatMap((one) => {
    const kind = objectKindOf(one.object);
    const unusual =
      isListed || usualKinds.has(kind)
        ? []
        : [`is no kind that an environment may hold; an operator can allow ${kind} with policy.objects`];
    const problems = clusterScoped.has(kind)
      ? ['belongs to the whole cluster, which all environments share']
      : [...unusual, ...findProblems(one.object)];
    return problems.map((problem) => failure('policy.exceeded', `${placeOf(one)}: ${printObject(one)} ${problem}`));
  });
};

const objectsOf = (components: readonly MergedComponent[]): readonly RenderedObject[] =>
  components.flatMap(({ declared }) => declared.rendered?.objects ?? []);

const printObject = ({ object }: RenderedObject): string =>
  `${asText(object['kind'])}/${asText(asMap(object['metadata'])['name'])}`;

const placeOf = ({ file, line }: RenderedObject): string => (line === null ? file : `${file}:${line}`);

const findProblems = (object: JsonMap): readonly string[] => {
  const { kind, metadata, spec } = object;
  const { namespace } = asMap(metadata);
  return [
    ...(namespace === undefined
      ? []
      : [`is for namespace ${asText(namespace)}; leave metadata.namespace out, since every environment has its own`]),
    ...(isWorkload(kind) ? findPodProblems(asMap(at(object, [...podTemplatePath(kind), 'spec']))) : []),
    ...(kind === 'Service' && asList(asMap(spec)['externalIPs']).length > 0 ? ['takes external addresses (externalIPs)'] : []),
  ];
};

const hostNamespaces = ['hostNetwork', 'hostPID', 'hostIPC'];

/** What the machine of the pods would share with them. */
const findPodProblems = (pods: JsonMap): readonly string[] => {
  const containers = ['containers', 'initContainers', 'ephemeralContainers'].flatMap((key) => asList(pods[key]).map(asMap));
  const volumes = asList(pods['volumes']).map(asMap);
  return [
    ...hostNamespaces.filter((key) => pods[key] === true).map((key) => `shares a namespace with the machine (${key})`),
    ...volumes
      .filter((volume) => Object.hasOwn(volume, 'hostPath'))
      .map((volume) => `mounts a folder of the machine (hostPath in volume ${asText(volume['name'])})`),
    ...containers.flatMap((container) => {
      const name = asText(container['name']);
      const isPrivileged = at(container, ['securityContext', 'privileged']) === true;
      const ports = asList(container['ports']).flatMap((port) => {
        const { hostPort } = asMap(port);
        return hostPort === undefined || hostPort === 0 ? [] : [JSON.stringify(hostPort)];
      });
      return [
        ...(isPrivileged ? [`has all rights on the machine (privileged in container ${name})`] : []),
        ...ports.map((port) => `takes port ${port} of the machine (hostPort in container ${name})`),
      ];
    }),
  ];
};
