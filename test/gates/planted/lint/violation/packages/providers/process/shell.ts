import { execSync } from 'node:child_process';

export const listRefs = (url: string): string => execSync(`git ls-remote ${url}`, { encoding: 'utf8' });
