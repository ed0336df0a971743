export { replan } from '../eph/imports-engine.ts';
