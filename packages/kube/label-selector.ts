/** Labels that objects must have: with this value, or with any for `true`. */
export type LabelSelector = Readonly<Record<string, string | true>>;

/** As the API server reads it. */
export const printSelector = (selector: LabelSelector): string =>
  Object.entries(selector)
    .map(([label, value]) => (value === true ? label : `${label}=${value}`))
    .join(',');

export const isSelected = (selector: LabelSelector, labels: Readonly<Record<string, string>> | undefined): boolean =>
  Object.entries(selector).every(([label, value]) => {
    const found = labels !== undefined && Object.hasOwn(labels, label) ? labels[label] : undefined;
    return value === true ? found !== undefined : found === value;
  });
