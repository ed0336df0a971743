import type { ScriptedForge } from '../forge-http/scripted-forge.fake.ts';
import type { GitlabForge } from './gitlab-forge.ts';
import { connectGitlab } from './gitlab-harness.fake.ts';

export const createScriptedGitlab = ({ url }: Pick<ScriptedForge, 'url'>): GitlabForge =>
  connectGitlab(url, 'glpat-of-nobody-at-all', { location: 'acme/shop' }).forge;
