import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventOf, forgeNames, headersOf, payload, Receiver, secrets, shop } from './receiver.fake.ts';
import { createWebhookRoutes } from './webhook-routes.ts';

let receiver: Receiver;
beforeEach(async () => {
  receiver = await new Receiver().start();
});
afterEach(() => receiver[Symbol.asyncDispose]());

describe('a webhook', () => {
  it.each(forgeNames)('of %s wakes the project of its repository once', async (forge) => {
    const response = await receiver.send({ forge, event: eventOf[forge] });
    expect([response.status, await response.json()]).toEqual([202, { woken: ['shop'] }]);
    expect(receiver.woken).toEqual([shop]);
  });

  it('belongs to one forge, also where two have the same type and a repository with the same name', async () => {
    expect(await receiver.statusOf({ forge: 'enterprise', secret: secrets.github })).toBe(401);
    expect(await receiver.statusOf({ forge: 'github', secret: secrets.enterprise })).toBe(401);
    expect(receiver.woken).toEqual([]);
    expect(await receiver.statusOf({ forge: 'enterprise' })).toBe(202);
    expect(receiver.woken).toEqual(['plans']);
    expect(await receiver.statusOf({ forge: 'github' })).toBe(202);
    expect(receiver.woken).toEqual(['plans', shop]);
  });

  it('about something nobody depends on is acknowledged, and that is all', async () => {
    for (const [index, event] of ['ping', 'star', 'workflow_job', 'no such event', ''].entries()) {
      const response = await receiver.send({ event, body: { ...payload, index } });
      expect([response.status, await response.json()]).toEqual([
        202,
        { woken: [], because: 'this event affects no environment' },
      ]);
    }
    expect(await receiver.statusOf({ headers: { 'x-github-event': undefined } })).toBe(202);
    expect(receiver.woken).toEqual([]);
  });

  it('about a repository nobody watches is acknowledged, and that is all', async () => {
    const names = ['acme/other', 'shop', '', '../acme/shop', 'x'.repeat(100_000), 'ünï/code', 'acme/shop\0'];
    for (const full_name of names) expect(await receiver.statusOf({ body: { repository: { full_name } } })).toBe(202);
    expect(await receiver.statusOf({ body: {} })).toBe(202);
    expect(receiver.woken).toEqual([]);
  });

  it('about several repositories wakes each project once', async () => {
    const acme = { full_name: 'acme/shop' };
    const body = {
      action: 'added',
      repositories_added: [acme, { full_name: 'acme/other' }, { full_name: 'Acme/Shop' }],
      repositories_removed: [acme],
    };
    expect(await receiver.statusOf({ event: 'installation_repositories', body })).toBe(202);
    expect(receiver.woken).toEqual([shop]);
  });

  it.each([
    ['github', 'repository'],
    ['github', 'installation_repositories'],
    ['gitea', 'repository'],
    ['gitlab', 'Project Hook'],
  ])('of %s about %s makes ephd list the repositories of organisations, once', async (forge, event) => {
    const body = { repository: { full_name: 'acme/new' }, event_name: 'project_create' };
    expect(await receiver.statusOf({ forge, event, body, secret: 'guess' })).toBe(401);
    for (let count = 0; count < 3; count += 1) expect(await receiver.statusOf({ forge, event, body })).toBe(202);
    expect(receiver.lists).toBe(1);
    expect(receiver.woken).toEqual([]);
  });

  it('is one of many, and each counts', async () => {
    const sent = Array.from({ length: 200 }, (_, index) => receiver.statusOf({ body: { ...payload, index } }));
    expect(new Set(await Promise.all(sent))).toEqual(new Set([202]));
    expect(receiver.woken).toHaveLength(200);
  });

  it('leaves nothing of its body in the log', async () => {
    const body = { ...payload, head_commit: { message: 'confidential' } };
    await receiver.statusOf({ body });
    await receiver.statusOf({ body, secret: 'wrong' });
    await receiver.statusOf({ body: '{"confidential"' });
    expect(receiver.logged.length).toBeGreaterThan(0);
    expect(JSON.stringify(receiver.logged)).not.toContain('confidential');
  });
});

describe('payloads that GitHub once sent', () => {
  interface Example {
    readonly action?: string;
    readonly repository?: { readonly full_name: string };
  }
  const path = createRequire(import.meta.url).resolve('@octokit/webhooks-examples');
  const all = JSON.parse(readFileSync(path, 'utf8')) as readonly {
    readonly name: string;
    readonly examples: readonly Example[];
  }[];
  const waking = [
    'push',
    'create',
    'delete',
    'pull_request',
    'pull_request_review',
    'issue_comment',
    'check_run',
    'check_suite',
    'status',
    'label',
    'member',
    'repository',
    'public',
    'installation',
    'installation_repositories',
  ];

  it('are all understood, and wake the repository they are about where something depends on them', async () => {
    const asked: string[] = [];
    const routes = createWebhookRoutes({
      forgeOf: () => ({ type: 'github', secret: 'github secret' }),
      projectOf: (_, name) => {
        asked.push(name);
        return shop;
      },
      wake: (project) => receiver.woken.push(project),
      registries: [],
      wakeWaiting: () => {},
      wakeOrganisations: () => {},
      now: () => 0,
      log: { debug: () => {}, info: () => {}, warn: () => {} },
    });
    for (const { name, examples } of all) {
      for (const [index, example] of examples.entries()) {
        asked.length = 0;
        receiver.woken.length = 0;
        const body = JSON.stringify({ ...example, index });
        const headers = { 'content-type': 'application/json', ...headersOf('github', name, 'github secret', body) };
        const response = await routes.request('/webhooks/github', { method: 'POST', headers, body });
        expect([name, response.status]).toEqual([name, 202]);
        const isAbout = waking.includes(name) ? namesIn(example) : [];
        expect([name, asked]).toEqual([name, isAbout]);
        expect([name, receiver.woken.length]).toEqual([name, Math.min(isAbout.length, 1)]);
      }
    }
    for (const name of waking) expect(all.map((one) => one.name)).toContain(name);
  });

  const namesIn = (example: Example): readonly string[] => {
    const lists = example as { repositories?: Named[]; repositories_added?: Named[]; repositories_removed?: Named[] };
    return [
      ...(example.repository === undefined ? [] : [example.repository]),
      ...(lists.repositories ?? []),
      ...(lists.repositories_added ?? []),
      ...(lists.repositories_removed ?? []),
    ].map((one) => one.full_name);
  };
  interface Named {
    readonly full_name: string;
  }
});

describe('anything else', () => {
  it.each([
    ['GET', '/webhooks/github'],
    ['POST', '/webhooks'],
    ['POST', '/webhooks/bitbucket'],
    ['POST', '/webhooks/__proto__'],
    ['POST', '/webhooks/github/x'],
    ['GET', '/api/v1/environments'],
    ['GET', '/'],
  ])('is not there: %s %s', async (method, path) => {
    const response = await fetch(`${receiver.url}${path}`, { method });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { code: 'api.not_found' } });
  });

  it('may be asked under any name of this machine', async () => {
    const headers = { host: 'hooks.example.com', origin: 'https://git.example.com' };
    expect(await receiver.statusOf({ headers })).toBe(202);
  });
});
