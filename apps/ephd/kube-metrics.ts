import type { KubeObserver } from '@eph/kube/observer';
import { Counter, Histogram, type Registry } from 'prom-client';

/** What is asked of the clusters, and how that goes. */
export const createKubeMetrics = (registry: Registry): KubeObserver => {
  const registers = [registry];
  const requests = new Counter({
    name: 'eph_kube_requests_total',
    help: 'Requests to clusters by status class',
    labelNames: ['cluster', 'verb', 'kind', 'class'],
    registers,
  });
  const seconds = new Histogram({
    name: 'eph_kube_request_duration_seconds',
    help: 'Time until a cluster answered; of a watch, until it began',
    labelNames: ['cluster', 'verb'],
    registers,
  });
  const bytes = new Counter({
    name: 'eph_kube_received_bytes_total',
    help: 'Bytes of answers of clusters; what watches send after they began is not counted',
    labelNames: ['cluster', 'verb', 'kind'],
    registers,
  });
  const restarts = new Counter({
    name: 'eph_kube_watch_restarts_total',
    help: 'Watches that were begun again, and why',
    labelNames: ['cluster', 'kind', 'why'],
    registers,
  });
  return {
    requested({ cluster, verb, kind, status, milliseconds, bytes: received }) {
      requests.inc({ cluster, verb, kind, class: status === 'failed' ? status : `${Math.floor(status / 100)}xx` });
      seconds.observe({ cluster, verb }, milliseconds / 1000);
      bytes.inc({ cluster, verb, kind }, received);
    },
    restarted: ({ cluster, kind, why }) => restarts.inc({ cluster, kind, why }),
  };
};
