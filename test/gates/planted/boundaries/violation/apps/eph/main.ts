import { replan } from './imports-engine.ts';

replan('shop');
