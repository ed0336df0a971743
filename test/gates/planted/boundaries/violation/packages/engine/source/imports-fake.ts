import { fakeForge } from './forge.fake.ts';

export const forge = fakeForge;
