import type { ObjectName } from './object.ts';

export interface PodName extends ObjectName {
  readonly namespace: string;
}

/** Of what a pod has besides being an object, such as its log. */
export const podPath = (
  { namespace, name }: PodName,
  subresource: string,
  query: readonly (readonly [name: string, value: string | number | boolean])[],
): string => {
  const search = new URLSearchParams(query.map(([key, value]): [string, string] => [key, String(value)]));
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}/${subresource}?${search.toString()}`;
};
