import { z } from 'zod';
import { kubernetesKinds } from '../kubernetes-kinds.ts';
import { distinctNames, fold, notBoth, oneOf, requires } from '../rules.ts';
import { annotations, imageName, list, name, repositoryPath, template, text, variables } from '../scalars.ts';
import { section } from '../section.ts';

const patch = z.strictObject({
  target: z
    .strictObject({
      kind: text().describe('The kind of object, such as `Deployment`.'),
      name: text().optional().describe('The name of the object. Without it, every object of the kind.'),
    })
    .describe('What to change.'),
  patch: text(20_000).describe('The change, as Kustomize takes it.'),
});

const manifest = z
  .union([
    repositoryPath.describe('Short for `path`.').transform((path) => ({ path })),
    z
      .strictObject({
        path: repositoryPath.optional().describe('A file or a folder with manifests.'),
        kustomization: repositoryPath.optional().describe('A folder with a kustomization.'),
        patches: list(patch).optional().describe('Changes to what the kustomization gives, in this order.'),
        chart: repositoryPath
          .optional()
          .describe('The folder of a Helm chart. Charts that it depends on must be in its folder `charts`.'),
        value_files: list(repositoryPath)
          .optional()
          .describe('Files with values for the chart, from the root of the repository on, later ones over earlier ones.'),
        values: z.record(z.string(), z.json()).optional().describe('Values for the chart, over those of the files.'),
      })
      .refine(...oneOf('path', 'kustomization', 'chart'))
      .refine(...notBoth('path', 'kustomization'))
      .refine(...notBoth('path', 'chart'))
      .refine(...notBoth('kustomization', 'chart'))
      .refine(...requires('patches', 'kustomization'))
      .refine(...requires('value_files', 'chart'))
      .refine(...requires('values', 'chart')),
  ])
  .describe('Where manifests lie.');

const image = z
  .strictObject({
    name: text().describe('The image as the manifests name it.'),
    newName: template('kubernetes.images.newName', 500)
      .regex(imageName, 'must be an image without its tag, such as ghcr.io/org/api')
      .optional()
      .describe('The image to use in its place.'),
    newTag: template('kubernetes.images.newTag').optional().describe('The tag to use.'),
  })
  .refine(...oneOf('newTag', 'newName'));

const portRange = 'must be from 1 to 65535';

const entry = z
  .strictObject({
    service: name.describe('The name of a Service in the manifests.'),
    port: z
      .union([z.int().min(1, portRange).max(65_535, portRange), name], 'must be the number or the name of a port')
      .optional()
      .describe('A port of it, by number or name. Optional where it has only one.'),
  })
  .describe('The Service that gets the traffic of the environment. Optional where there is only one.');

const secret = z.strictObject({
  name: name.describe('The name of the secret.'),
  data: variables.describe('What it holds. Values come from the server with `${NAME}`: what is in the repository is no secret.'),
});

const ingress = z
  .strictObject({
    class: text().optional().describe('Which ingress controller serves it.'),
    annotations: annotations.optional().describe('Annotations for the ingress controller.'),
  })
  .describe('How traffic reaches the environment.');

const namespaceTemplate = template('kubernetes.namespace_template');

const schema = z
  .strictObject({
    context: template('kubernetes.context')
      .optional()
      .describe('The cluster: the name of a provider in the file of ephd. Without it, the one that `provider` chooses.'),
    namespace_template: namespaceTemplate.optional().describe('The namespace of an environment.'),
    namespace: namespaceTemplate.optional().describe('Short for `namespace_template`.'),
    manifests: list(manifest).describe('What to apply, in this order. An object that comes again replaces the earlier one.'),
    entry: entry.optional(),
    images: list(image)
      .refine(...distinctNames)
      .optional()
      .describe('Images to use in place of those in the manifests.'),
    imagePullSecrets: list(z.strictObject({ name: name.describe('The name of a secret.') }))
      .optional()
      .describe('Secrets with which images are looked for and fetched. Those that the operator allows are copied.'),
    secrets: list(secret)
      .refine(...distinctNames)
      .optional()
      .describe('Secrets that the environment is given.'),
    ingress: ingress.optional(),
  })
  .refine(...notBoth('namespace', 'namespace_template'))
  .transform((written) => fold(written, 'namespace', 'namespace_template'))
  .describe('Manifests applied to a Kubernetes cluster, in a namespace per environment.');

export const kubernetes = section({
  name: 'kubernetes',
  schema,
  available: {
    context: true,
    namespace_template: true,
    namespace: true,
    manifests: true,
    entry: true,
    images: true,
    imagePullSecrets: true,
    secrets: true,
  },
  verbatim: ['ingress.annotations', 'secrets.*.data'],
  provider: 'kubernetes',
  choice: true,
  rendered: kubernetesKinds,
});
