export const introduction = `
# eph.yaml

One file at the root of the repository says what gets an environment and what runs in it. ephd reads it from the commit,
so a branch can change it for its own environment.

\`\`\`yaml
# yaml-language-server: $schema=eph.schema.json
version: "1.0"
name: shop

triggers:
  - type: git_branch
    patterns: ["preview/**"]
  - type: git_tag
    pattern: "v*-rc*"

environment:
  env:
    APP_ENV: preview

process:
  services:
    web:
      command: [node, web.mjs]
      entry: true
      ready: { http: /healthz }
      env:
        API_URL: outputs/api/url
    api:
      command: node api.mjs
      directory: backend
      ready: { http: /healthz, timeout: 30s }
\`\`\`

ephd shows all mistakes of a file at once on the environment of that branch, with line, column and a suggestion. What
runs is not changed. \`eph config validate\` shows the same before you push. Editors can check the file against a
copy of \`schemas/eph.schema.json\`, which the [API](ephd.md#api) of ephd serves too.

**Not everything is available yet.** The format covers all of Eph. Keys that this version does not act on are marked
below. ephd reads and checks them, and the environment shows a notice. There is one exception: if a file asks for
protected environments, no environment is started, because it would be open to everybody.

**Services.** Every service gets \`PORT\`, \`EPH_PROJECT\`, \`EPH_ENVIRONMENT\`, \`EPH_URL\`, \`EPH_COMMIT\` and \`EPH_REF\`, and
publishes \`url\`, \`host\` and \`port\` once it is ready. It gets nothing else of ephd's own environment. On an update the
new version is started beside the old one and gets the traffic when it is ready. The old one is stopped once nothing
uses it. If the new version never gets ready, the old one keeps serving.

**Images** are built by CI, never by Eph. A component names an entry of \`environment.images\`, or an image with its tag
or digest, such as \`redis:7\`. Eph finds out which digest that is and runs exactly this one. An entry is looked for in
this order: \`--image=[name=]reference\` in the comment that asked for the environment, a Git note on the commit
(\`tag_source\`), the text of a check that the trigger waits for, the tag of \`tag_template\`, the newest tag that matches
\`tag_pattern\`. Comments, notes and checks do not count for pull requests from forks. A tag that does not name the
commit, such as \`pr-7\`, counts only if the image says that it was built from this commit (label \`eph.io/commit\` or
\`org.opencontainers.image.revision\`) or, without a label, if it is younger than the commit. While an image is missing
its component waits; the others do not. What was found stays until there is a new commit, unless \`follow_tag\` is set.
[CI](guides/ci.md) describes how a build and Eph work together. A service of \`process\` finds the image, with its digest,
in \`EPH_IMAGE\`, for commands that start a container themselves.

**Providers.** A section such as \`process\` describes what runs, and a provider of the server runs it. \`provider\` is the
name of a provider or a type; of several providers with one type, the first in ephd's file is used. An environment stays
on its provider until this key changes, even on a fallback whose primary provider is configured again.

**Kubernetes.** Every workload of the manifests (Deployment, StatefulSet, DaemonSet, ReplicaSet, Job, CronJob, Pod) is a
component of its name, with its kind behind it where two share one: \`web-cronjob\`. It comes with the Services,
autoscalers and disruption budgets that point at it. Everything else is the component \`namespace\`, which all others
need. What a manifest says about replicas, resources, variables, autoscaling and images is the developer layer, and the
other layers apply to it. A variable may be a reference, as in this file. In a workload with several containers, values
mean the one that is called like the component, or else the first; images and resources of the others are in
\`containers.<name>\`. A container runs the entry of \`environment.images\` that has the repository of its image, the name
of its image or its own name, then what \`kubernetes.images\` puts in its place, or else the image that it names.
Manifests leave \`metadata.namespace\` out. \`eph render\` prints what would be applied.

Kustomizations are built by \`kustomize\` or \`kubectl\`, and charts are rendered by \`helm template\`, with the name of the
project as the release. Nothing is fetched: remote bases and the dependencies of charts must be in the repository. Jobs
with the hooks \`pre-install\` and \`pre-upgrade\` must succeed before other workloads are made, \`post-install\` and
\`post-upgrade\` need only the namespace, and other hooks are left out. What a chart makes anew in each rendering, such as
a password, keeps the value it was created with. What changes only by the day cannot be recognised.

**References determine the order.** A variable whose whole value is \`outputs/<component>/<key>\` becomes that output. Its
component waits until the other one is ready at the same commit. To write plain text that looks like a reference, put a
backslash in front (\`\\configs/app.yaml\`). [Configuration](configuration.md#references) lists the other kinds of
references.

**Values come in layers**: built-in defaults, what the platform sets for every component of a kind, this file, and what
an operator sets for one component. A key without a value (\`replicas:\`) counts as absent. \`eph config explain\` prints
every value with the layer, file, line and commit it comes from, and [Configuration](configuration.md) explains how
layers are merged. Limits of the server apply to the merged values.

**Templates** insert variables into names, hosts and tags: \`{project}-{ref_name}\`, \`{commit_sha:0:7}\`. The result is
adapted to its place, for example to a DNS label. **Variables of the server** are written \`\${NAME}\` or
\`\${NAME:-default}\` and come from a list that the operator keeps for the project; \`$\${\` is the text \`\${\`.

**Limits of the file**: 256 KiB of UTF-8, one YAML document, 20,000 tokens, 64 levels, 100 aliases. Each key may be
given once. Tags (\`!x\`) and merge keys (\`<<\`) are not supported. Values of variables keep their written form: \`1.0\`
stays \`1.0\`. A duration is written \`90s\`, \`1h30m\` or \`7d\`, an amount as in Kubernetes, \`100m\` or \`4Gi\`.
`;
