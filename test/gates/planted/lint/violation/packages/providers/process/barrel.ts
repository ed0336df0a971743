export * from './cycle-b.ts';
