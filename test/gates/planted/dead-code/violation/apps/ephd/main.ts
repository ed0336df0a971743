import { diff } from '@eph/engine/plan/diff';
import { check } from './undeclared.ts';

check(diff('shop').project);
