import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { createKubeMetrics } from './kube-metrics.ts';

const pod = { cluster: 'eu', verb: 'list', kind: 'Pod', milliseconds: 20 } as const;

describe('metrics of clusters', () => {
  it('count requests by what they ask for and how that ends', async () => {
    const registry = new Registry();
    const observer = createKubeMetrics(registry);
    observer.requested({ ...pod, status: 200, bytes: 1000 });
    observer.requested({ ...pod, status: 201, bytes: 500 });
    observer.requested({ ...pod, status: 429, bytes: 10 });
    observer.requested({ ...pod, status: 'failed', bytes: 0 });
    observer.requested({ ...pod, cluster: 'us', status: 200, bytes: 1 });
    const lines = (await registry.metrics()).split('\n');
    expect(lines).toContain('eph_kube_requests_total{cluster="eu",verb="list",kind="Pod",class="2xx"} 2');
    expect(lines).toContain('eph_kube_requests_total{cluster="eu",verb="list",kind="Pod",class="4xx"} 1');
    expect(lines).toContain('eph_kube_requests_total{cluster="eu",verb="list",kind="Pod",class="failed"} 1');
    expect(lines).toContain('eph_kube_requests_total{cluster="us",verb="list",kind="Pod",class="2xx"} 1');
    expect(lines).toContain('eph_kube_received_bytes_total{cluster="eu",verb="list",kind="Pod"} 1510');
    expect(lines).toContain('eph_kube_request_duration_seconds_count{cluster="eu",verb="list"} 4');
  });

  it('count the restarts of watches by why', async () => {
    const registry = new Registry();
    const observer = createKubeMetrics(registry);
    for (const why of ['ended', 'expired', 'ended'] as const) observer.restarted({ cluster: 'eu', kind: 'Pod', why });
    const lines = (await registry.metrics()).split('\n');
    expect(lines).toContain('eph_kube_watch_restarts_total{cluster="eu",kind="Pod",why="ended"} 2');
    expect(lines).toContain('eph_kube_watch_restarts_total{cluster="eu",kind="Pod",why="expired"} 1');
  });
});
