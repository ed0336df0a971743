export const refuse = (): never => {
  throw 'refused';
};
