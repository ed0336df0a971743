import { parseSpec } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { scriptAnswers } from '../prompter.fake.ts';
import type { Prompter } from '../prompter.ts';
import { findDeployments } from './find-manifests.ts';
import { findServices } from './find-services.ts';
import { type Files, listingOf } from './folder.fake.ts';
import { defaultsPrompter, propose } from './proposal.ts';
import { printSpec } from './spec-text.ts';

const kinds: readonly Files[] = [
  { 'package.json': '{"scripts":{"start":"x"},"dependencies":{"a":"1"}}' },
  { 'yarn.lock': '', 'package.json': '{"workspaces":["api","jobs"],"scripts":{"dev":"vite"}}' },
  { Procfile: 'worker: x\nweb: y' },
  { 'api/go.mod': '', 'api/cmd/one/main.go': '', 'api/cmd/two/main.go': '', 'prepare/app.py': 'PORT ONE_URL' },
  { 'jobs/app.py': '', 'jobs/requirements.txt': 'flask', 'asgi/pyproject.toml': '[project]\ndependencies = ["fastapi"]' },
  { 'public/index.html': '' },
  { 'image/Dockerfile': 'CMD ["x", "y: z"]' },
  { 'compose.yaml': '', 'compose.preview.yaml': '' },
  { 'overlays/preview/kustomization.yaml': '' },
  { 'chart/Chart.yaml': '' },
  { 'deploy/web.yaml': 'kind: Deployment' },
];

const combinations = Array.from({ length: 2 ** kinds.length }, (_, number) =>
  Object.assign({}, ...kinds.filter((_kind, index) => Math.floor(number / 2 ** index) % 2 === 1)),
) as readonly Files[];

describe('every combination of what can be found', () => {
  it('gives a file without faults, for every provider it offers', async () => {
    const providers = new Set<string>();
    for (const files of combinations) {
      const listing = listingOf(files);
      const discovery = {
        name: 'shop',
        root: undefined,
        ...(await findServices(listing)),
        deployments: await findDeployments(listing),
        cut: false,
      };
      const offered: string[] = [];
      const choose: Prompter['choose'] = async (question) => {
        if (question.message.startsWith('Which provider')) offered.push(...question.choices.map(({ value }) => value));
        return defaultsPrompter.choose(question);
      };
      await propose({ ...defaultsPrompter, choose }, discovery);
      for (const provider of offered.length > 0 ? offered : ['process']) {
        const text = printSpec(await propose(scriptAnswers({ 'Which provider': provider }), discovery), discovery);
        const parsed = parseSpec(new TextEncoder().encode(text));
        const outcome = parsed.ok ? parsed.spec.providers.primary : parsed.faults;
        expect(outcome, `${Object.keys(files).join(', ')}:\n${text}`).toBe(provider);
        providers.add(provider);
      }
    }
    expect(providers).toStrictEqual(new Set(['process', 'docker-compose', 'kubernetes']));
  }, 120_000);
});
