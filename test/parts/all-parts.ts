import { gitea } from './gitea.ts';
import { nginx } from './nginx.ts';
import type { Part } from './part.ts';
import { postgres } from './postgres.ts';

export const allParts: readonly Part[] = [postgres, nginx, gitea];
