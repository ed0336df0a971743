import { fakeClock } from '../loop/clock.fake.ts';
import { forgeContract } from './forge.contract.ts';
import { fakeForge } from './forge.fake.ts';

forgeContract(() => fakeForge(fakeClock()));
