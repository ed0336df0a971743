import { fakeDiff } from './diff.fake.ts';
import { diff } from './diff.ts';

diff(fakeDiff);
