import { forgeContract } from '@eph/engine/source/forge.contract';
import { gitForge } from './git-forge.ts';

forgeContract(() => gitForge());
