import { createHmac } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { GithubEmulator } from '../parts/github/github-emulator.ts';
import { EphdHarness } from './ephd-harness.ts';
import { eventually } from './eventually.ts';
import { plainApp, textsOf } from './labelled-app.ts';
import { reservePort } from './reserved-ports.ts';

const hookSecret = 'a secret of webhooks';
/** `EPH_REPOSITORIES=500` takes minutes: each repository is read twice. */
const leaving = Number(process.env['EPH_REPOSITORIES'] ?? 50);
const seconds = 30 + leaving;

describe('an organisation', () => {
  it('that loses and regains many repositories disturbs no request', { timeout: 6 * seconds * 1000 }, async () => {
    await using github = await GithubEmulator.start({ rateLimit: { core: 100_000 } });
    await using harness = await EphdHarness.create();
    github.populate({ owner: 'acme', repositories: leaving, pullRequestsEach: 0 });
    const stays = github.createRepository('acme/stays');
    const names = Array.from({ length: leaving }, (_, index) => `service-${String(index + 1).padStart(4, '0')}`);
    const all = names.map((name) => github.repository(`acme/${name}`));
    const [leaves] = all;
    if (leaves === undefined) throw new Error('there are no repositories');
    github.createOrganization('elsewhere');
    const hookPort = await reservePort();
    const app = github.createApp();
    app.install('acme');
    const commits = [stays, leaves].map((one) => one.push('preview/one', textsOf(plainApp())));
    const config = join(harness.folder, 'ephd.yaml');
    const forge = {
      type: 'github',
      url: github.url,
      app: { id: app.id, key: { from: 'KEY' } },
      webhook_secret: { from: 'HOOK' },
    };
    const organisations = [{ trusted: true, forge: 'work', owner: 'acme' }];
    await writeFile(config, JSON.stringify({ forges: { work: forge }, organisations, webhooks: { port: hookPort } }));
    const ephd = await harness.start({
      projects: [],
      args: ['--config', config],
      env: { KEY: app.privateKey, HOOK: hookSecret },
    });

    const find = async (project: string) => (await harness.environments()).find((one) => one.project === project);
    const untilPhase = (project: string, phase: string) =>
      eventually(
        `${project} is ${phase}`,
        async () => {
          const found = await find(project);
          return found?.phase === phase ? found : undefined;
        },
        seconds,
      );
    const before = [await untilPhase('stays', 'Ready'), await untilPhase('service-0001', 'Ready')];
    expect(before.map(({ commit }) => commit)).toEqual(commits);
    await eventually('ephd is ready', async () => (await harness.api('/readyz')).status === 200, seconds);
    const servicesOf = (id: string | undefined) => harness.services().filter(({ environment }) => environment === id);
    const services = servicesOf(before[1]?.id);
    expect(services).toHaveLength(1);

    /** The emulator does not send what GitHub does then. */
    const move = async (owner: string, change: 'added' | 'removed'): Promise<void> => {
      for (const one of all) one.transfer(owner);
      const body = JSON.stringify({ [`repositories_${change}`]: names.map((name) => ({ full_name: `acme/${name}` })) });
      const signature = `sha256=${createHmac('sha256', hookSecret).update(body).digest('hex')}`;
      const headers = { 'x-github-event': 'installation_repositories', 'x-hub-signature-256': signature };
      const answer = await fetch(`http://127.0.0.1:${hookPort}/webhooks/work`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body,
      });
      expect(answer.status).toBe(202);
    };
    const visitor = new Visitor(
      harness,
      before.map(({ name }) => name),
    );
    await move('elsewhere', 'removed');
    await untilPhase('service-0001', 'Held');
    const commit = stays.push('preview/one', textsOf(plainApp()));
    await harness.api('/hooks/git?project=stays', { method: 'POST' });
    await eventually('the other project goes on', async () => (await find('stays'))?.commit === commit, seconds);
    await move('acme', 'added');
    await untilPhase('service-0001', 'Ready');
    const answers = await visitor.stop();

    expect(new Set(answers)).toEqual(new Set(['gateway 200', 'API 200', 'readiness 200']));
    expect(await find('service-0001')).toMatchObject({ id: before[1]?.id, name: before[1]?.name, commit: commits[1] });
    expect(servicesOf(before[1]?.id)).toEqual(services);
    const lines = ephd.lines.filter(({ msg }) => msg.startsWith('projects '));
    expect(lines.map(({ msg, count }) => `${msg}: ${String(count)}`)).toEqual([
      `projects joined: ${leaving + 1}`,
      `projects left: ${leaving}`,
      `projects joined: ${leaving}`,
    ]);
    expect(ephd.lines.filter(({ level }) => Number(level) >= 50)).toEqual([]);
  });
});

/** Sends requests to environments and to the API, fewer than ephd allows a token, and notes how each was answered. */
class Visitor {
  readonly #answers: string[] = [];
  readonly #running: Promise<unknown>;
  #stopped = false;

  constructor(harness: EphdHarness, names: readonly string[]) {
    const loop = async (what: string, send: () => Promise<{ readonly status: number }>): Promise<void> => {
      while (!this.#stopped) {
        const answer = await send().then(
          ({ status }) => `${what} ${status}`,
          (error: unknown) => `${what} ${String(error)}`,
        );
        this.#answers.push(answer);
        await delay(30);
      }
    };
    this.#running = Promise.all([
      ...names.map((name) => loop('gateway', () => harness.visit(name))),
      loop('API', () => harness.api('/api/v1/environments')),
      loop('readiness', () => harness.api('/readyz')),
    ]);
  }

  async stop(): Promise<readonly string[]> {
    this.#stopped = true;
    await this.#running;
    return this.#answers;
  }
}
