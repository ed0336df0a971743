/** Query and body of a request as one object, as Rails reads them. https://docs.gitlab.com/api/rest/#array-and-hash-types */
export const readParameters = (
  query: string,
  contentType: string,
  body: Buffer,
): Readonly<Record<string, unknown>> | undefined => {
  const fromQuery = readForm(query);
  if (body.length === 0) return fromQuery;
  if (contentType.startsWith('application/json')) {
    const parsed = parseObject(body.toString());
    return parsed === undefined ? undefined : { ...fromQuery, ...parsed };
  }
  return contentType.startsWith('application/x-www-form-urlencoded') ? { ...fromQuery, ...readForm(body.toString()) } : undefined;
};

const parseObject = (text: string): Readonly<Record<string, unknown>> | undefined => {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined; // Not JSON: the caller refuses it.
  }
};

/** `a=1`, `a[]=1&a[]=2` and `a[b]=1`. */
const readForm = (text: string): Readonly<Record<string, unknown>> => {
  const values: Record<string, unknown> = {};
  for (const [name, value] of new URLSearchParams(text)) {
    const [, key = name, inner] = /^([^[]+)\[([^\]]*)\]$/u.exec(name) ?? [];
    if (inner === undefined) values[key] = value;
    else if (inner === '') values[key] = [...((values[key] as readonly unknown[] | undefined) ?? []), value];
    else values[key] = { ...(values[key] as object | undefined), [inner]: value };
  }
  return values;
};
