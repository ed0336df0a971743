import { mkdir, writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import type { EnvironmentView } from '@eph/contract';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWith } from '../parts/describe-with.ts';
import { gitea } from '../parts/gitea.ts';
import type { GiteaRepository } from '../parts/gitea-repository.ts';
import { node } from '../parts/node.ts';
import type { NodeAccess } from '../parts/node-server.ts';
import { registry } from '../parts/registry.ts';
import { findSharedGitea, ownName } from '../parts/shared-gitea.ts';
import { findSharedNode } from '../parts/shared-node.ts';
import { skopeo } from '../parts/skopeo.ts';
import { tmux } from '../parts/tmux.ts';
import { EphdHarness } from './ephd-harness.ts';
import { eventually } from './eventually.ts';
import { ImageRegistry } from './image-registry.ts';
import { textsOf } from './labelled-app.ts';
import { publishAnswer } from './node-images.ts';
import { openTerminal } from './open-terminal.ts';
import { type PodAppOptions, podApp } from './pod-app.ts';
import { runEph } from './run-eph.ts';

const main = join(import.meta.dirname, '../../apps/eph/main.ts');

/** Asks an environment again and again until it is told to stop. */
const keepVisiting = (harness: EphdHarness, name: string, options: { readonly keepAlive: boolean; readonly method: string }) => {
  const agent = new Agent({ keepAlive: options.keepAlive });
  const answers: string[] = [];
  let isOver = false;
  const visit = (): Promise<string> =>
    new Promise((resolve) => {
      const headers = { host: `${name}.localhost:${harness.gatewayPort}` };
      const asking = request(
        { agent, host: '127.0.0.1', port: harness.gatewayPort, method: options.method, headers },
        (answer) => {
          let body = '';
          answer.setEncoding('utf8').on('data', (text: string) => {
            body += text;
          });
          answer.once('end', () => resolve(`${answer.statusCode} ${body}`));
          answer.once('error', (error) => resolve(error.message));
        },
      );
      asking.once('error', (error) => resolve(error.message));
      asking.end();
    });
  const work = (async () => {
    while (!isOver) answers.push(await visit());
  })();
  return {
    answers,
    async stop() {
      isOver = true;
      await work;
      agent.destroy();
    },
  };
};

const title = 'the life of an environment in a cluster';

const suite = (): void => {
  let server: NodeAccess;
  let images: ImageRegistry;
  let harness: EphdHarness;
  let repository: GiteaRepository;
  let image: string;
  let number: number;
  let environment: EnvironmentView;
  const owner = ownName('e2e');

  beforeAll(async () => {
    server = await findSharedNode();
    images = await ImageRegistry.start();
    harness = await EphdHarness.create();
    const folder = join(harness.folder, 'image');
    await mkdir(folder);
    image = await publishAnswer(server, images, folder);
    const forge = await findSharedGitea();
    repository = await forge.createRepository(forge.admin.name, ownName('shop'), { 'README.md': 'a shop' });
    await repository.createLabel('preview');
    const config = join(harness.folder, 'ephd.yaml');
    const settings = {
      forges: { work: { type: 'gitea', url: forge.url, token: { from: 'GITEA_TOKEN' } } },
      providers: { cluster: { type: 'kubernetes', kubeconfig: server.cluster.kubeconfig, owner } },
      registries: { [images.host]: { plain_http: true } },
      projects: [{ name: 'shop', trusted: true, forge: 'work', location: `${repository.owner}/${repository.name}` }],
    };
    await writeFile(config, JSON.stringify(settings));
    await harness.start({ projects: [], args: ['--config', config], env: { GITEA_TOKEN: forge.admin.token } });
  });

  afterAll(async () => {
    await harness[Symbol.asyncDispose]();
    await images[Symbol.asyncDispose]();
    await server.cluster.kubectl('delete', 'namespaces', `--selector=eph.io/owner=${owner}`, '--wait=false');
    await server.cluster.api.close();
  });

  const wake = () => harness.api('/hooks/git', { method: 'POST' });
  const push = async (options: Partial<PodAppOptions> & Pick<PodAppOptions, 'version'>): Promise<string> => {
    const commit = await repository.pushFiles('work', textsOf(podApp({ image, ...options })));
    await wake();
    return commit;
  };
  const eph = async (...args: string[]): Promise<string> => {
    const { code, out, err } = await runEph(harness, args);
    if (code !== 0) throw new Error(`eph ${args.join(' ')} ended with ${code}: ${err}${out}`);
    return out;
  };
  const untilReady = (commit: string) => harness.untilReady(String(number), commit, 90);
  const page = (version: string): string => `${version}, and the API says apples`;

  const readPods = async (): Promise<readonly string[]> => {
    const selector = `--selector=eph.io/owner=${owner},eph.io/component=web`;
    return (await server.cluster.kubectl('get', 'pods', '--all-namespaces', selector, '--output=name')).trim().split('\n');
  };
  const readNamespaces = async (): Promise<readonly string[]> => {
    const names = await server.cluster.kubectl('get', 'namespaces', `--selector=eph.io/owner=${owner}`, '--output=name');
    return names.split('\n').filter((name) => name !== '');
  };
  const untilWhy = (says: string) =>
    eventually(`eph why says ${says}`, async () => (await eph('why', environment.name)).includes(says), 60);

  it('begins with a label on a pull request, and is a page', async () => {
    const commit = await push({ version: 'one' });
    ({ number } = await repository.openPullRequest('work', 'Work'));
    await repository.addLabels(number, 'preview');
    await wake();
    environment = await untilReady(commit);
    expect(await harness.visit(environment.name)).toMatchObject({ status: 200, body: page('one') });
  });

  it('gets a new commit without a failed request', async () => {
    const visitors = [
      keepVisiting(harness, environment.name, { keepAlive: true, method: 'GET' }),
      keepVisiting(harness, environment.name, { keepAlive: false, method: 'GET' }),
      keepVisiting(harness, environment.name, { keepAlive: true, method: 'POST' }),
    ];
    await untilReady(await push({ version: 'two' }));
    for (const { answers } of visitors)
      await eventually('every visitor sees the new version', () => answers.at(-1) === `200 ${page('two')}`);
    // The old pod serves on for a while, and visitors come back to it until it ends.
    await eventually('only the new pod is left', async () => (await readPods()).length === 1);
    await Promise.all(visitors.map((one) => one.stop()));
    for (const { answers } of visitors) expect(new Set(answers)).toEqual(new Set([`200 ${page('one')}`, `200 ${page('two')}`]));
  });

  it('shows what its pods print, and lets people look around in them', async () => {
    expect(await eph('logs', environment.name, '--component', 'web')).toContain('serving two');
    expect(await eph('logs', environment.name, '--component', 'migrate')).toContain('migrates to two');
    expect(await eph('exec', environment.name, '--', 'sh', '-c', 'echo "$RELEASE at $API"')).toMatch(
      /^two at http:\/\/api\..*\.svc:80$/m,
    );
    expect(await eph('status', environment.name)).toMatch(/web +.*ready/i);
  });

  it.skipIf(!tmux.find().found)('opens a terminal in a pod', async () => {
    const variables = {
      PATH: process.env['PATH'],
      HOME: harness.folder,
      XDG_STATE_HOME: harness.stateFolder,
      EPH_SERVER: `http://127.0.0.1:${harness.apiPort}`,
    };
    using terminal = openTerminal(harness.folder, variables, 'PS1="outside> " sh');
    await expect.poll(terminal.screen).toMatch(/outside>/);
    terminal.type(`${process.execPath} ${main} exec ${environment.name} -- sh -c 'PS1="inside> " exec sh'\n`);
    await expect.poll(terminal.screen).toMatch(/^inside>$/m);
    terminal.type('stty size; echo $RELEASE\n');
    await expect.poll(terminal.screen).toMatch(/^20 90\ntwo$/m);
    terminal.type('exit 5\n');
    await expect.poll(terminal.screen).toMatch(/outside>$/m);
  });

  it('serves on while a new commit crashes or has an image that no node can pull, and says why', async () => {
    await push({ version: 'three', lastWords: 'no more apples' });
    await untilWhy('web ended with exit code 3');
    expect(await runEph(harness, ['status', environment.name])).toMatchObject({
      out: expect.stringContaining('web ended with exit code 3'),
    });
    expect(await eph('logs', environment.name, '--component', 'web')).toContain('no more apples');
    expect(await harness.visit(environment.name)).toMatchObject({ status: 200, body: page('two') });
    const webImage = await images.publish('acme/unpulled', 'one');
    await push({ version: 'four', webImage });
    await untilWhy(`The image ${webImage} of web cannot be pulled`);
    expect(await harness.visit(environment.name)).toMatchObject({ status: 200, body: page('two') });
    const commit = await push({ version: 'five' });
    await untilReady(commit);
    await eventually('the page of the commit', async () => (await harness.visit(environment.name)).body === page('five'));
  });

  it('is made again when somebody asks for that, or deletes its namespace', async () => {
    const before = await readPods();
    await eph('redeploy', environment.name, 'web', '--wait');
    expect((await readPods()).filter((one) => before.includes(one))).toEqual([]);
    const [namespace = ''] = await readNamespaces();
    await server.cluster.kubectl('delete', namespace, '--wait=false');
    await eventually(
      'another pod',
      async () => !(await readPods()).some((one) => before.includes(one)) && (await readPods())[0] !== '',
      90,
    );
    await harness.until(String(number), 'ready again', ({ phase }) => phase === 'Ready', 90);
    await eventually('the page', async () => (await harness.visit(environment.name)).body === page('five'));
  });

  it('ends with its pull request, and leaves nothing', async () => {
    await repository.closePullRequest(number);
    await wake();
    await harness.untilGone(String(number), 60);
    expect(await readNamespaces()).toEqual([]);
    const kinds = 'all,configmaps,secrets,serviceaccounts,networkpolicies,limitranges,resourcequotas';
    const selector = `--selector=eph.io/owner=${owner}`;
    expect(await server.cluster.kubectl('get', kinds, '--all-namespaces', selector, '--output=name')).toBe('');
    await eventually('the comment says so', async () => {
      const comments = await repository.readComments(number);
      return comments.length === 1 && /removed/i.test(comments[0]?.body ?? '');
    });
  });
};

describeWith(node, title, () =>
  describeWith(gitea, 'on Gitea', () =>
    describeWith(registry, 'with a registry', () => describeWith(skopeo, 'and skopeo', suite)),
  ),
);
