export const store = 'sqlite';
