import { describe, expect, it } from 'vitest';
import { GithubEmulator } from '../github-emulator.ts';
import { octokitFor } from '../octokit-clients.ts';
import { Conformance } from './conformance.ts';
import { Description } from './description.ts';

const shop = { owner: 'acme', repo: 'shop' };

describe('a request that does not fit GitHub’s description', () => {
  const wrong: readonly [what: string, route: string, parameters: Record<string, unknown>, fault: RegExp][] = [
    ['a misspelt parameter', 'GET /repos/{owner}/{repo}/pulls', { ...shop, perpage: 5 }, /no query parameter "perpage"/],
    ['a value that is none', 'GET /repos/{owner}/{repo}/pulls', { ...shop, state: 'opened' }, /"state".*allowed values/],
    ['a word for a number', 'GET /repos/{owner}/{repo}/pulls', { ...shop, page: 'two' }, /"page".*must be integer/],
    ['no body', 'POST /repos/{owner}/{repo}/issues/1/comments', shop, /body/],
    ['a body of the wrong type', 'POST /repos/{owner}/{repo}/issues/1/comments', { ...shop, body: 1 }, /must be string/],
    ['a misspelt property', 'POST /repos/{owner}/{repo}/deployments', { ...shop, ref: 'main', env: 'x' }, /no property "env"/],
    ['a path that GitHub lacks', 'GET /repos/{owner}/{repo}/previews', shop, /GitHub has no such operation/],
    ['an operation that is not emulated', 'GET /gists', {}, /does not have gists\/list yet/],
  ];

  it.each(wrong)('is refused and recorded: %s', async (_what, route, parameters, fault) => {
    await using github = await GithubEmulator.start();
    github.createRepository('acme/shop').openIssue('Help');
    const octokit = octokitFor(github, github.createToken());

    await expect(octokit.request(route, parameters)).rejects.toThrow(fault);
    const violations = github.takeViolations();
    expect(violations).toHaveLength(1);
    expect(violations[0]).toMatchObject({ kind: 'request', faults: [expect.stringMatching(fault)] });
  });

  it('fails the test at the end, even if the client swallowed the refusal', async () => {
    const github = await GithubEmulator.start();
    await fetch(`${github.url}/rate_limits`);
    await expect(github.stop()).rejects.toThrow(/GET \/rate_limits: the request does not fit .* GitHub has no such operation/);
  });
});

describe('an answer of the emulator that does not fit', () => {
  const description = Description.load('github.com');
  const operation = description.operation('issues/list-labels-for-repo');
  const label = { id: 1, node_id: 'x', url: 'https://x.example/', name: 'x', color: 'ededed', default: false, description: null };

  it('is a bug of the emulator and throws', () => {
    const conformance = new Conformance(description);
    expect(() => conformance.checkAnswer(operation, 'x', 200, [label])).not.toThrow();
    const wrong: readonly [unknown, RegExp][] = [
      [[{ ...label, id: 'one' }], /\/0\/id must be integer/],
      [[{ ...label, name: undefined }], /must have required property 'name'/],
      [[{ ...label, colour: 'red' }], /no property "colour"/],
      [{ labels: [label] }, /must be array/],
    ];
    for (const [body, fault] of wrong) expect(() => conformance.checkAnswer(operation, 'x', 200, body)).toThrow(fault);
    expect(() => conformance.checkAnswer(operation, 'x', 418, undefined)).toThrow(/never answers with 418/);
    expect(conformance.take()).toHaveLength(5);
  });

  it('includes webhooks', () => {
    const conformance = new Conformance(description);
    expect(() => conformance.checkWebhook('pull-request-labeled', { action: 'labeled' })).toThrow(/pull_request/);
  });
});
