import { asText, type JsonMap } from '@eph/contract';

/** What an application is usually made of. Roles are none of it: they could let it change what it runs in. */
export const usualKinds: ReadonlySet<string> = new Set([
  'ConfigMap',
  'Secret',
  'Service',
  'ServiceAccount',
  'PersistentVolumeClaim',
  'Pod',
  'LimitRange',
  'Deployment.apps',
  'StatefulSet.apps',
  'DaemonSet.apps',
  'ReplicaSet.apps',
  'Job.batch',
  'CronJob.batch',
  'HorizontalPodAutoscaler.autoscaling',
  'PodDisruptionBudget.policy',
  'Ingress.networking.k8s.io',
  'NetworkPolicy.networking.k8s.io',
  'EndpointSlice.discovery.k8s.io',
]);

/** Whatever a policy says: no environment may touch what all of them share. */
export const clusterScoped: ReadonlySet<string> = new Set([
  'Namespace',
  'Node',
  'PersistentVolume',
  'ComponentStatus',
  'ClusterRole.rbac.authorization.k8s.io',
  'ClusterRoleBinding.rbac.authorization.k8s.io',
  'CustomResourceDefinition.apiextensions.k8s.io',
  'APIService.apiregistration.k8s.io',
  ...['MutatingWebhookConfiguration', 'ValidatingWebhookConfiguration'].map((kind) => `${kind}.admissionregistration.k8s.io`),
  ...['MutatingAdmissionPolicy', 'MutatingAdmissionPolicyBinding'].map((kind) => `${kind}.admissionregistration.k8s.io`),
  ...['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'].map((kind) => `${kind}.admissionregistration.k8s.io`),
  ...['StorageClass', 'CSIDriver', 'CSINode', 'VolumeAttachment', 'VolumeAttributesClass'].map(
    (kind) => `${kind}.storage.k8s.io`,
  ),
  'PriorityClass.scheduling.k8s.io',
  'RuntimeClass.node.k8s.io',
  'IngressClass.networking.k8s.io',
  'IPAddress.networking.k8s.io',
  'ServiceCIDR.networking.k8s.io',
  'CertificateSigningRequest.certificates.k8s.io',
  'ClusterTrustBundle.certificates.k8s.io',
  'FlowSchema.flowcontrol.apiserver.k8s.io',
  'PriorityLevelConfiguration.flowcontrol.apiserver.k8s.io',
  'GatewayClass.gateway.networking.k8s.io',
]);

/** `Deployment.apps`; of the oldest group only the kind. */
export const objectKindOf = ({ apiVersion, kind }: JsonMap): string => {
  const version = asText(apiVersion);
  const group = version.includes('/') ? version.slice(0, version.indexOf('/')) : '';
  return group === '' ? asText(kind) : `${asText(kind)}.${group}`;
};

/** Whether an entry of `policy.objects` means this kind. A kind alone is one of Kubernetes itself. */
export const allowsObject = (kind: string, allowed: string): boolean => {
  if (allowed === '*') return usualKinds.has(kind);
  const [name = '', ...group] = kind.split('.');
  const [wanted = '', ...wantedGroup] = allowed.split('.');
  const isOwn = group.length < 2 || group.slice(-2).join('.') === 'k8s.io';
  if (wantedGroup.length === 0) return name === wanted && isOwn && group.join('.') !== 'gateway.networking.k8s.io';
  return (wanted === '*' || wanted === name) && wantedGroup.join('.') === group.join('.');
};
