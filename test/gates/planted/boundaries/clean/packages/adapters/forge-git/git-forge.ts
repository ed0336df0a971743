import { homedir } from 'node:os';
import type { Forge } from '@eph/engine/source/forge';

export const gitForge = (): Forge => ({ project: homedir() });
