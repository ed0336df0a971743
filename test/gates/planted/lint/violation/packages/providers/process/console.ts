export const announce = (name: string): void => {
  console.log(name);
};
