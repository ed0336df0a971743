import { asList, asMap, type JsonMap } from '@eph/contract';

/** Whether a selector of Kubernetes means something with these labels. An empty one means nothing here: it would mean everything. */
export const selects = ({ matchLabels, matchExpressions }: JsonMap, labels: JsonMap): boolean => {
  const wanted = Object.entries(asMap(matchLabels));
  const expressions = asList(matchExpressions).map(asMap);
  if (wanted.length + expressions.length === 0) return false;
  return (
    wanted.every(([key, value]) => labels[key] === value) &&
    expressions.every(({ key, operator, values }) => {
      const label = typeof key === 'string' && Object.hasOwn(labels, key) ? labels[key] : undefined;
      const isListed = label !== undefined && asList(values).includes(label);
      switch (operator) {
        case 'In':
          return isListed;
        case 'NotIn':
          return !isListed;
        case 'Exists':
          return label !== undefined;
        case 'DoesNotExist':
          return label === undefined;
        default:
          return false;
      }
    })
  );
};
