import { diff } from '@eph/engine/plan/diff';

diff('demo');
