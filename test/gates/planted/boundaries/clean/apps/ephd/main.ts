import { run } from './wiring.ts';

run();
