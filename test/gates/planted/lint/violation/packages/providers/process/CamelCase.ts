export const name = 'process';
