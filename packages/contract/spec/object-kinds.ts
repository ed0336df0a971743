import type { JsonMap } from '../layers.ts';
import { asText } from './rendered-objects.ts';

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
