import { fakeClock } from '../time/clock.fake.ts';
import { forgeContract } from './forge.contract.ts';
import { fakeForge } from './forge.fake.ts';

forgeContract(() => fakeForge(fakeClock()));
