export * from './ids.ts';
export * from './imports-engine.ts';
export * from './imports-node.ts';
