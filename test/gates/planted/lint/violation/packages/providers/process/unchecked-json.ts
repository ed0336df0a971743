export const readState = (text: string): { readonly pid: number } => {
  const state = JSON.parse(text);
  return { pid: Number(state) };
};
