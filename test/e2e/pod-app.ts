import type { Files } from './sample-repository.ts';

export interface PodAppOptions {
  /** With a digest, which is on the node. */
  readonly image: string;
  /** What the page says. */
  readonly version: string;
  /** Another image for the page. */
  readonly webImage?: string;
  /** The page prints this and ends, instead of serving. */
  readonly lastWords?: string;
}

/**
 * A page that needs an API, for a node on which pods really run: Deployments, Services, a ConfigMap, and a migration that runs before
 * both. Triggered by the label `preview`.
 */
export const podApp = ({ image, version, webImage = image, lastWords }: PodAppOptions): Files => {
  const page = 'printf "%s, and the API says %s" "$VERSION" "$(wget -q -O - "$API_SERVICE_HOST")"';
  const migration = {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'migrate', annotations: { 'helm.sh/hook': 'pre-install,pre-upgrade' } },
    spec: {
      backoffLimit: 0,
      template: {
        spec: { restartPolicy: 'Never', containers: [{ name: 'migrate', image, command: shell(`echo migrates to ${version}`) }] },
      },
    },
  };
  const web = {
    name: 'web',
    image: webImage,
    command: shell(lastWords === undefined ? serving(page) : `echo ${lastWords}; exit 3`),
    env: [
      { name: 'API', value: 'outputs/api/url' },
      { name: 'RELEASE', value: version },
    ],
    envFrom: [{ configMapRef: { name: 'page' } }],
  };
  const objects = [
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'page' }, data: { VERSION: version } },
    migration,
    deployment({ name: 'api', image, command: shell(serving('printf apples')) }),
    service('api'),
    deployment(web),
    service('web'),
  ];
  return {
    'eph.yaml': JSON.stringify({
      version: '1.0',
      name: 'shop',
      triggers: [{ type: 'pr_label', labels: ['preview'] }],
      kubernetes: { manifests: ['k8s'], entry: { service: 'web' } },
    }),
    'k8s/all.yaml': objects.map((one) => JSON.stringify(one)).join('\n---\n'),
  };
};

const shell = (script: string): readonly string[] => ['sh', '-c', script];

/** Keeps connections open, answers with what the command prints, and ends at once when it is told to, whether or not it has answered. */
const serving = (command: string): string => `
cat > /tmp/serve <<'END'
while IFS= read -r line; do
  [ "$line" = "$(printf '\\r')" ] || continue
  body=$(${command})
  printf 'HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n%s' "\${#body}" "$body"
done
END
nc -ll -p 8080 -e sh /tmp/serve &
trap 'exit 0' TERM
echo "serving $RELEASE"
wait`;

interface Container {
  readonly name: string;
  readonly [field: string]: unknown;
}

const deployment = (container: Container) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: container.name },
  spec: {
    selector: { matchLabels: { app: container.name } },
    template: {
      metadata: { labels: { app: container.name } },
      spec: {
        // The address of the API, on a node without DNS.
        enableServiceLinks: true,
        containers: [
          {
            ...container,
            ports: [{ containerPort: 8080 }],
            readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
          },
        ],
      },
    },
  },
});

const service = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec: { selector: { app: name }, ports: [{ port: 80, targetPort: 8080 }] },
});
