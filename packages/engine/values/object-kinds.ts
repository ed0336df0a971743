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

/** Whether an entry of `policy.objects` means this kind. A kind alone is one of Kubernetes itself. */
export const allowsObject = (kind: string, allowed: string): boolean => {
  if (allowed === '*') return usualKinds.has(kind);
  const [name = '', ...group] = kind.split('.');
  const [wanted = '', ...wantedGroup] = allowed.split('.');
  const isOwn = group.length < 2 || group.slice(-2).join('.') === 'k8s.io';
  if (wantedGroup.length === 0) return name === wanted && isOwn && group.join('.') !== 'gateway.networking.k8s.io';
  return (wanted === '*' || wanted === name) && wantedGroup.join('.') === group.join('.');
};
