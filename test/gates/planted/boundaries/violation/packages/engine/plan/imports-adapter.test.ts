import { gitForge } from '@eph/adapters/forge-git/git-forge';

gitForge();
