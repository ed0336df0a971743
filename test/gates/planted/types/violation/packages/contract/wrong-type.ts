export const port: number = '80';
