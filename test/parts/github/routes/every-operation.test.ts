import type { Octokit } from '@octokit/core';
import { describe, expect, it } from 'vitest';
import { GithubEmulator } from '../github-emulator.ts';
import { octokitFor, octokitForApp } from '../octokit-clients.ts';
import { Description, type Flavour } from '../openapi/description.ts';
import { allRoutes } from './all-routes.ts';

interface Scene {
  readonly github: GithubEmulator;
  readonly installed: Octokit;
  readonly person: Octokit;
  readonly sha: string;
  readonly installation: number;
  readonly comment: number;
  /** Ids that an earlier request made, by operation. */
  readonly made: Map<string, number>;
}

const setTheScene = (github: GithubEmulator): Scene => {
  github.createOrganization('acme', { owners: ['octocat'] });
  const shop = github.createRepository('acme/shop', { private: true, files: { 'eph.yaml': 'a: 1\n' } });
  const sha = shop.push('feature', { 'src/x.ts': 'y\n' });
  const pull = shop.openPullRequest({ head: 'feature', labels: ['preview'] });
  const comment = pull.comment('hi', { by: 'ada' });
  pull.review('APPROVED', { by: 'ada' });
  shop.setStatus(sha, 'success');
  const app = github.createApp();
  const installation = app.install('acme');
  shop.addCheckRun(app, sha, 'build', 'success');
  return {
    github,
    installed: octokitForApp(github, app, installation),
    person: octokitFor(github, github.createToken()),
    sha,
    installation: installation.id,
    comment,
    made: new Map(),
  };
};

type Parameters = Readonly<Record<string, unknown>>;
type Step = readonly [operation: string, parameters: (scene: Scene) => Parameters, as?: 'person'];

const shop = { owner: 'acme', repo: 'shop' };
const issue = { ...shop, issue_number: 1 };
const pull = { ...shop, pull_number: 1 };
const inShop =
  (parameters: Parameters = {}) =>
  () => ({ ...shop, ...parameters });
const onIssue =
  (parameters: Parameters = {}) =>
  () => ({ ...issue, ...parameters });
const onPull =
  (parameters: Parameters = {}) =>
  () => ({ ...pull, ...parameters });
const onComment =
  (parameters: Parameters = {}) =>
  (scene: Scene) => ({ ...shop, comment_id: scene.comment, ...parameters });
const onCommit =
  (name: string, parameters: Parameters = {}) =>
  ({ sha }: Scene) => ({ ...shop, [name]: sha, ...parameters });
const onMade =
  (operation: string, name: string, parameters: Parameters = {}) =>
  ({ made }: Scene) => ({ ...shop, [name]: made.get(operation), ...parameters });

const steps: readonly Step[] = [
  ['apps/get-authenticated', () => ({})],
  ['apps/get-repo-installation', inShop()],
  ['apps/get-org-installation', () => ({ org: 'acme' })],
  ['apps/get-user-installation', () => ({ username: 'acme' })],
  ['apps/create-installation-access-token', ({ installation }) => ({ installation_id: installation, repositories: ['shop'] })],
  ['apps/list-repos-accessible-to-installation', () => ({})],
  ['users/get-authenticated', () => ({}), 'person'],
  ['users/get-by-username', () => ({ username: 'ada' })],
  ['repos/list-for-org', () => ({ org: 'acme', type: 'sources', sort: 'pushed' })],
  ['repos/list-for-user', () => ({ username: 'ada' })],
  ['repos/list-for-authenticated-user', () => ({}), 'person'],
  ['repos/get', inShop()],
  ['repos/get-collaborator-permission-level', inShop({ username: 'ada' })],
  ['pulls/list', inShop({ state: 'all', sort: 'updated', direction: 'desc' })],
  ['pulls/get', onPull()],
  ['pulls/list-files', onPull()],
  ['pulls/list-reviews', onPull()],
  ['issues/list-for-repo', inShop({ labels: 'preview', since: '2020-01-01T00:00:00Z' })],
  ['issues/get', onIssue()],
  ['issues/add-labels', onIssue({ labels: ['preview:48h'] })],
  ['issues/remove-label', onIssue({ name: 'preview' })],
  ['issues/list-events', onIssue()],
  ['issues/list-events-for-timeline', onIssue()],
  ['issues/list-comments', onIssue({ since: '2020-01-01T00:00:00Z' })],
  ['issues/create-comment', onIssue({ body: 'hello' })],
  ['issues/update-comment', onComment({ body: 'changed' })],
  ['reactions/create-for-issue-comment', onComment({ content: 'rocket' })],
  ['repos/list-activities', inShop({ ref: 'feature', time_period: 'day', per_page: 1 })],
  ['git/get-commit', onCommit('commit_sha')],
  ['repos/create-commit-status', onCommit('sha', { state: 'pending', context: 'eph', target_url: 'https://a.example/' })],
  ['repos/get-combined-status-for-ref', onCommit('ref')],
  ['checks/list-for-ref', onCommit('ref', { check_name: 'build', filter: 'all' })],
  ['repos/create-deployment', onCommit('ref', { environment: 'shop', auto_merge: false, required_contexts: [] })],
  ['repos/list-deployments', inShop({ environment: 'shop' })],
  ['repos/get-deployment', onMade('repos/create-deployment', 'deployment_id')],
  ['repos/create-deployment-status', onMade('repos/create-deployment', 'deployment_id', { state: 'inactive' })],
  ['repos/list-deployment-statuses', onMade('repos/create-deployment', 'deployment_id')],
  ['repos/delete-deployment', onMade('repos/create-deployment', 'deployment_id')],
];

const perform = async (flavour: Flavour, scene: Scene, [operation, parameters, as]: Step): Promise<void> => {
  const { method, template } = Description.load(flavour).operation(operation);
  const client = as === 'person' ? scene.person : scene.installed;
  const { status, data } = await client.request(`${method} ${template}`, parameters(scene));
  expect(status, operation).toBeLessThan(300);
  if (typeof data === 'object' && data !== null && 'id' in data) scene.made.set(operation, Number(data.id));
};

describe.each(['github.com', 'enterprise'] as const)('every operation on %s', (flavour) => {
  it('answers as GitHub describes it', async () => {
    await using github = await GithubEmulator.start({ flavour });
    const scene = setTheScene(github);
    for (const step of steps) await perform(flavour, scene, step);
    expect(github.takeViolations()).toEqual([]);
    expect(steps.map(([operation]) => operation).toSorted()).toEqual(
      allRoutes(0, String)
        .map(({ operation }) => operation)
        .toSorted(),
    );
  });
});
