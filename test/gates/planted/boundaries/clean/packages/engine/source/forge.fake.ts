import { mkdtempSync } from 'node:fs';
import type { Clock } from '../time/clock.ts';
import type { Forge } from './forge.ts';

export const fakeForge = (clock: Clock): Forge => ({ project: mkdtempSync(String(clock.now())) });
