import { projectId, silentLog } from '@eph/contract';
import type { ScriptedForge } from '../forge-http/scripted-forge.fake.ts';
import { createGitlabForge, type GitlabForge } from './gitlab-forge.ts';

/** A new forge that lists merge requests only. */
export const createScriptedGitlab = ({ url }: Pick<ScriptedForge, 'url'>): GitlabForge =>
  createGitlabForge({
    project: projectId('shop'),
    baseUrl: url,
    path: 'acme/shop',
    token: 'glpat-of-nobody-at-all',
    folder: '/nonexistent',
    kinds: ['pr'],
    now: Date.now,
    random: () => 0,
    log: silentLog,
  });
