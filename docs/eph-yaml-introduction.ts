export const introduction = `
# eph.yaml

One file at the root of the repository says what gets an environment and what runs in it. It is read from the commit itself, so a
branch can change it for its own environment.

\`\`\`yaml
# yaml-language-server: $schema=http://127.0.0.1:7070/schemas/eph.schema.json
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

A mistake is shown on the environment of that branch, all mistakes at once, with line, column and a suggestion; what runs stays as it
is. \`eph config validate\` shows the same before you push, and editors check the file against \`schemas/eph.schema.json\`, which ephd
also serves at \`/schemas/eph.schema.json\`.

**Not everything is available yet.** Files are written for all of Eph. What this version does not act on is marked below; it is read,
checked, and answered with a notice on the environment, never ignored in silence. One exception is not left at a notice: a file that
asks for protected environments gets none rather than open ones.

**Services.** Every service gets \`PORT\`, \`EPH_PROJECT\`, \`EPH_ENVIRONMENT\`, \`EPH_URL\`, \`EPH_COMMIT\` and \`EPH_REF\`, and publishes
\`url\`, \`host\` and \`port\` once it is ready. It gets nothing else of ephd's own environment. On an update the new version is started
beside the old one, gets the traffic when it is ready, and the old one is stopped once nobody uses it. A version that never gets ready
leaves the old one serving.

**Providers.** A section such as \`process\` says what runs; a provider of the server makes it. \`provider\` names one, or a type, of which the
first one of the server is taken. An environment stays on its provider until this key changes, also on a fallback whose primary provider
is configured again.

**References give the order.** A variable whose whole value is \`outputs/<component>/<key>\` becomes that output, and its component waits
until the other one is ready at the same commit. A backslash in front makes plain text of something that looks like a reference
(\`\\configs/app.yaml\`). [Configuration](configuration.md#references) says what else can be referred to.

**Values come in layers.** Built-in defaults, then what the platform sets for every component of a kind, then this file, then what an
operator sets for one component. A value left empty here (\`replicas:\`) is as good as left out. \`eph config explain\` prints every value with the layer, file, line and commit it comes from, and
[Configuration](configuration.md) says how layers are merged. Limits that the server sets hold whatever the layers say.

**Templates** put variables into names, hosts and tags: \`{project}-{ref_name}\`, \`{commit_sha:0:7}\`. The result is made to fit where it
goes. **Variables of the server** are written \`\${NAME}\`, or \`\${NAME:-default}\`, and come from a list that the operator keeps for the
project; \`$\${\` is the text \`\${\`.

**Limits of the file.** 256 KiB of UTF-8, one YAML document, 20,000 tokens, 64 levels, 100 aliases. Keys are given once. Tags (\`!x\`)
and merge keys (\`<<\`) are not supported. The values of variables are what was written: \`1.0\` stays \`1.0\`. A duration is written
\`90s\`, \`1h30m\` or \`7d\`, an amount as in Kubernetes, \`100m\` or \`4Gi\`.
`;
