import { kubernetesKinds, type RenderedObject, type SectionComponent, shippedSections } from '@eph/contract';

const section = shippedSections.find(({ name }) => name === 'kubernetes');

/** A component as a renderer finds it in `k8s/app.yaml`. */
export const renderedComponent = (
  name: string,
  kind: keyof typeof kubernetesKinds,
  values: SectionComponent['values'],
  objects: readonly RenderedObject['object'][],
): SectionComponent => {
  if (section === undefined) throw new Error('there is no section kubernetes');
  const rendered = { objects: objects.map((object, index) => ({ object, file: 'k8s/app.yaml', line: 10 * index + 1 })) };
  const place = (path: readonly string[]) => ({ path: path.join('.'), line: 20 + path.length, column: 3 });
  return {
    section,
    name,
    kind: kubernetesKinds[kind],
    values,
    path: ['kubernetes'],
    rendered,
    ...(kind === 'Namespace' ? {} : { needs: ['namespace'], origin: { file: 'k8s/app.yaml', place } }),
  };
};
