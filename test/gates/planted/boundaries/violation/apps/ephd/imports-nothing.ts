export { lost } from './lost.ts';
