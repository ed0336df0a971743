declare const brand: unique symbol;

export type ProjectId = string & { readonly [brand]: 'project' };

export const projectId = (text: string): ProjectId => {
  if (!/^[a-z]+$/.test(text)) throw new RangeError(`'${text}' is no project id`);
  return text as ProjectId;
};
