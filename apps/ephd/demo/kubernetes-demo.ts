import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectId, providerName } from '@eph/contract';
import { type Config, plainProject } from '../config.ts';
import { providerTypes } from '../provider-types.ts';
import type { Ephd } from '../wiring.ts';
import { chooseCluster, type DemoCluster } from './demo-cluster.ts';
import { createSampleRepository, type Files, type SampleRepository } from './sample-repository.ts';
import { print, readEnvironments, Steps, startDemoEphd, until, untilGone, untilReady, untilStopped } from './steps.ts';
import { visit, visitRepeatedly } from './visitor.ts';

const branch = 'preview/plums';

/** The demo of the shop in a cluster. */
export const demoOnKubernetes = async (once: boolean, isAgreed: boolean): Promise<void> => {
  await using cluster = await chooseCluster(isAgreed);
  const folder = mkdtempSync(join(tmpdir(), 'eph-demo-'));
  try {
    const shop = await createSampleRepository(folder, 'shop', shopFiles(cluster.image, 'Plums are coming'));
    await using ephd = await startDemoEphd({
      dataFolder: join(folder, 'data'),
      webhooks: undefined,
      configuration: { repository: undefined, documents: [] },
      projects: [plainProject(projectId('shop'), shop.origin)],
      ...settingsOf(cluster),
    });
    try {
      await (once ? demoOnce(cluster, shop, ephd) : demoUntilStopped(cluster, shop, ephd));
    } finally {
      await removeEverything(shop, ephd);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

const settingsOf = ({ kubeconfig, registry }: DemoCluster): Pick<Config, 'providers' | 'registries'> => {
  // Another demo, or an ephd of this cluster, has another owner.
  const owner = `demo-${randomBytes(4).toString('hex')}`;
  const cluster = providerTypes.kubernetes.schema.parse({ type: 'kubernetes', kubeconfig, owner });
  const plain = {
    username: undefined,
    password: undefined,
    plainHttp: true,
    ca: undefined,
    webhookSecret: undefined,
    isFor: () => true,
  };
  return {
    providers: [{ name: providerName('kubernetes'), ...cluster }],
    registries: new Map(registry === undefined ? [] : [[registry, plain]]),
  };
};

const shopFiles = (image: string, headline: string): Files => ({
  'eph.yaml': `version: "1.0"
name: shop

triggers:
  - type: git_branch
    patterns: ["preview/**"]

kubernetes:
  manifests: [k8s]
`,
  'k8s/shop.yaml': `apiVersion: apps/v1
kind: Deployment
metadata: { name: shop }
spec:
  replicas: 1
  selector: { matchLabels: { app: shop } }
  template:
    metadata: { labels: { app: shop } }
    spec:
      terminationGracePeriodSeconds: 5
      securityContext: { runAsNonRoot: true, runAsUser: 65534, seccompProfile: { type: RuntimeDefault } }
      containers:
        - name: shop
          image: ${image}
          command: [sh, -c, 'mkdir /tmp/www && echo "$HEADLINE" > /tmp/www/index.html && exec httpd -f -p 8080 -h /tmp/www']
          env:
            - { name: HEADLINE, value: ${headline} }
          ports: [{ name: http, containerPort: 8080 }]
          readinessProbe: { httpGet: { path: /, port: http }, periodSeconds: 1 }
          lifecycle: { preStop: { exec: { command: [sleep, "2"] } } }
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: [ALL] } }
---
apiVersion: v1
kind: Service
metadata: { name: shop }
spec:
  selector: { app: shop }
  ports: [{ port: 80, targetPort: http }]
`,
});

const untilPageShows = (ephd: Ephd, name: string, headline: string): Promise<true> =>
  until(`the page with "${headline}"`, async () => {
    const page = await visit(ephd.gatewayPort, name);
    return page.status === 200 && page.body.includes(headline) ? true : undefined;
  });

const demoOnce = async (cluster: DemoCluster, shop: SampleRepository, ephd: Ephd): Promise<void> => {
  const steps = new Steps();
  const push = (headline: string): Promise<string> => shop.push(branch, shopFiles(cluster.image, headline), headline);
  print(`A small shop was made in ${shop.workingCopy}, and ephd watches it. Its environments are in ${cluster.title}.\n`);
  const first = await push('Plums are here');
  const environment = await steps.time(`branch ${branch} pushed, environment ready`, () => untilReady(ephd, first));
  await steps.time(`page fetched from ${environment.url}`, () => untilPageShows(ephd, environment.name, 'Plums are here'));
  const visitor = visitRepeatedly(ephd.gatewayPort, environment.name);
  const second = await push('Plums are ripe');
  await steps.time('new commit pushed, page changed', () => untilPageShows(ephd, environment.name, 'Plums are ripe'));
  await untilReady(ephd, second);
  const visits = await visitor.stop();
  if (visits.failures.length > 0)
    throw new Error(`${visits.failures.length} of ${visits.total} requests failed during the update: ${visits.failures[0]}`);
  print(`  ${visits.total} requests during the update, none failed`);
  await shop.deleteBranch(branch);
  await steps.time('branch deleted, namespace gone', () => untilGone(ephd));
  steps.print();
};

const demoUntilStopped = async (cluster: DemoCluster, shop: SampleRepository, ephd: Ephd): Promise<void> => {
  const stopped = untilStopped();
  print(`A small shop was made in ${shop.workingCopy}, and ephd watches it. Branch ${branch} is pushed.`);
  const commit = await shop.push(branch, shopFiles(cluster.image, 'Plums are here'), 'Plums are here');
  const { url } = await untilReady(ephd, commit);
  print(`
Click:   ${url}

Change it:
  cd ${shop.workingCopy}
  sed -i 's/Plums are here/Plums are ripe/' k8s/shop.yaml && git commit -qam ripe && git push -q origin ${branch}
Ask:
  npm run eph -- --server ${ephd.apiUrl} list
  kubectl --kubeconfig ${cluster.kubeconfig} get namespaces --selector eph.io/owner

Ctrl-C removes everything.
`);
  await stopped;
  print('\nRemoving everything.');
};

/** Also after a failure. Without their branches the environments are removed. */
const removeEverything = async (shop: SampleRepository, ephd: Ephd): Promise<void> => {
  for (const { source } of await readEnvironments(ephd))
    await shop.deleteBranch(source.name).catch((error: unknown) => print(String(error)));
  await untilGone(ephd);
};
