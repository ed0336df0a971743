import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { projectId } from '@eph/contract';
import { plainProject } from '../config.ts';
import type { Ephd } from '../wiring.ts';
import { masthead, newsFiles, platformFiles, shopFiles, shopOverride, shopPage } from './sample-files.ts';
import { createSampleRepository, type SampleRepository } from './sample-repository.ts';
import { print, readEnvironments, Steps, startDemoEphd, until, untilGone, untilReady, untilStopped } from './steps.ts';
import { visit, visitRepeatedly } from './visitor.ts';

const branch = 'preview/plums';
const newsBranch = 'preview/headlines';

interface Demo {
  readonly folder: string;
  readonly dataFolder: string;
  readonly shop: SampleRepository;
  readonly news: SampleRepository;
  readonly platform: SampleRepository;
  readonly ephd: Ephd;
}

const setUp = async (): Promise<Demo> => {
  const folder = mkdtempSync(join(tmpdir(), 'eph-demo-'));
  const shop = await createSampleRepository(folder, 'shop', shopFiles);
  const news = await createSampleRepository(folder, 'news', newsFiles);
  const platform = await createSampleRepository(folder, 'platform', platformFiles);
  const dataFolder = join(folder, 'data');
  const ephd = await startDemoEphd({
    dataFolder,
    webhooks: undefined,
    configuration: { repository: { location: platform.origin, branch: 'main', environment: 'demo' }, documents: [] },
    projects: [plainProject(projectId('shop'), shop.origin), plainProject(projectId('news'), news.origin)],
  });
  return { folder, dataFolder, shop, news, platform, ephd };
};

const untilPageShows = (demo: Demo, name: string, headline: string): Promise<string> =>
  until(`the page with "${headline}"`, async () => {
    const page = await visit(demo.ephd.gatewayPort, name);
    return page.status === 200 && page.body.includes(headline) ? page.body : undefined;
  });

const leftovers = ({ dataFolder }: Demo): readonly string[] =>
  readdirSync(join(dataFolder, 'process')).filter((name) => /^[0-9a-f]{16}$/.test(name));

const readVersions = async (demo: Demo, id: string): Promise<string> => {
  const environment = (await readEnvironments(demo.ephd)).find((one) => one.id === id);
  return JSON.stringify(environment?.components.map(({ name, current, next }) => [name, current, next]));
};

const runEph = async ({ ephd }: Demo, ...args: string[]): Promise<string> => {
  const eph = join(import.meta.dirname, '../../eph/main.ts');
  // Whoever runs the demo may have a token for another ephd in EPH_TOKEN.
  const { PATH, HOME, XDG_STATE_HOME } = process.env;
  const env = { PATH, HOME, ...(XDG_STATE_HOME !== undefined && { XDG_STATE_HOME }) };
  const { stdout } = await promisify(execFile)(process.execPath, [eph, '--server', ephd.apiUrl, ...args], { env });
  return stdout;
};

const introduce = ({ shop, ephd }: Demo): void => {
  print(`A small shop was made in ${shop.workingCopy}, news and a platform beside it, and ephd watches them.`);
  for (const isolation of ephd.isolation.values())
    print(
      isolation.state === 'sandboxed' ? 'Services run in a sandbox.' : `Services run without a sandbox: ${isolation.because}.`,
    );
};

const demoOnce = async (demo: Demo): Promise<void> => {
  const steps = new Steps();

  introduce(demo);
  print('');
  const first = await demo.shop.push(branch, shopPage('Plums are here'), 'Plums are here');
  const environment = await steps.time(`branch ${branch} pushed, environment ready`, () => untilReady(demo.ephd, first));
  await steps.time(`page fetched from ${environment.url}`, () => untilPageShows(demo, environment.name, 'Plums are here'));
  const headlines = await demo.news.push(newsBranch, { 'today.txt': 'Plums are here' }, 'Headlines');
  const news = await steps.time('news pushed, packages installed, environment ready', () => untilReady(demo.ephd, headlines));
  await untilPageShows(demo, news.name, masthead);

  print(`\nWhere its values come from (eph config explain):\n`);
  print(await runEph(demo, 'config', 'explain', '--environment', environment.name));

  const visitor = visitRepeatedly(demo.ephd.gatewayPort, environment.name);
  const second = await demo.shop.push(branch, shopPage('Plums are ripe'), 'Plums are ripe');
  await steps.time('new commit pushed, page changed', () => untilPageShows(demo, environment.name, 'Plums are ripe'));
  await steps.time('version before stopped', () =>
    until('stopping the version before', async () => {
      const now = await untilReady(demo.ephd, second);
      return now.components.some((component) => component.retiring) ? undefined : now;
    }),
  );
  const newsBefore = await readVersions(demo, news.id);
  await demo.platform.push('main', shopOverride('Plum week'), 'Announce the plum week');
  await steps.time('one line of the platform changed, page changed', () => untilPageShows(demo, environment.name, 'Plum week'));
  if ((await readVersions(demo, news.id)) !== newsBefore) throw new Error('a change for the shop alone changed news');
  print('  news was left as it is');
  const visits = await visitor.stop();
  if (visits.failures.length > 0)
    throw new Error(`${visits.failures.length} of ${visits.total} requests failed during the updates: ${visits.failures[0]}`);
  print(`  ${visits.total} requests during the updates, none failed`);

  await demo.shop.deleteBranch(branch);
  await demo.news.deleteBranch(newsBranch);
  await steps.time('branches deleted, everything gone', () => untilGone(demo.ephd));
  const left = leftovers(demo);
  if (left.length > 0) throw new Error(`environments are left in the data folder: ${left.join(', ')}`);
  const { status } = await visit(demo.ephd.gatewayPort, environment.name);
  if (status !== 404) throw new Error(`the address still answers with ${status}`);

  steps.print();
};

const demoUntilStopped = async (demo: Demo): Promise<void> => {
  introduce(demo);
  print(`Branches ${branch} and ${newsBranch} are pushed.\n`);
  const stopped = untilStopped();
  let watching = true;
  const watcher = printChanges(demo, () => watching);
  const first = await demo.shop.push(branch, shopPage('Plums are here'), 'Plums are here');
  const headlines = await demo.news.push(newsBranch, { 'today.txt': 'Plums are here' }, 'Headlines');
  const environment = await untilReady(demo.ephd, first);
  const news = await untilReady(demo.ephd, headlines);
  print(`
Click:   ${environment.url}
And:     ${news.url}

Change it:
  cd ${demo.shop.workingCopy}
  sed -i 's/Plums are here/Plums are ripe/' web.mjs && git commit -qam ripe && git push -q origin ${branch}
Another one:
  git push -q origin HEAD:refs/heads/preview/second
Override it, as the platform's operator:
  cd ${demo.platform.workingCopy}
  sed -i 's/BANNER: .*/BANNER: Plum week/' demo/apps/shop/shop/env.yaml && git commit -qam 'Plum week' && git push -q origin main
Ask:
  npm run eph -- --server ${demo.ephd.apiUrl} list
  npm run eph -- --server ${demo.ephd.apiUrl} config explain --environment ${environment.name}

Ctrl-C removes everything.
`);
  await stopped;
  print('\nRemoving everything.');
  await deleteBranches(demo);
  await untilGone(demo.ephd);
  watching = false;
  await watcher;
};

const deleteBranches = async (demo: Demo): Promise<void> => {
  for (const { project, source } of await readEnvironments(demo.ephd)) {
    const repository = project === 'news' ? demo.news : demo.shop;
    await repository.deleteBranch(source.name).catch((error: unknown) => print(String(error)));
  }
};

const printChanges = async (demo: Demo, watching: () => boolean): Promise<void> => {
  const printed = new Map<string, string>();
  while (watching()) {
    const environments = await readEnvironments(demo.ephd);
    for (const { id, name, phase, summary } of environments) {
      const line = `${name}: ${phase}${summary === '' ? '' : `, ${summary}`}`;
      if (printed.get(id) !== line) print(`${new Date().toISOString().slice(11, 23)}  ${line}`);
      printed.set(id, line);
    }
    for (const [id, line] of printed) {
      if (environments.some((one) => one.id === id)) continue;
      printed.delete(id);
      print(`${new Date().toISOString().slice(11, 23)}  ${line.split(':')[0]}: gone`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
};

const optionOf = (name: string): string | undefined =>
  process.argv.includes(name) ? (process.argv[process.argv.indexOf(name) + 1] ?? '') : undefined;

const main = async (): Promise<void> => {
  const once = process.argv.includes('--once');
  const forge = optionOf('--forge');
  const provider = optionOf('--provider') ?? 'process';
  if (provider === 'kubernetes' && forge === undefined)
    return (await import('./kubernetes-demo.ts')).demoOnKubernetes(once, process.argv.includes('--yes'));
  if (provider !== 'process')
    throw new Error(`--provider ${provider} is not possible here; use kubernetes without --forge, or leave it out`);
  // Loaded only here: it needs a Gitea server, which most machines do not have.
  if (forge === 'gitea') return (await import('./gitea-demo.ts')).demoOnGitea(once);
  if (forge !== undefined) throw new Error(`unknown --forge ${forge}; use gitea, or leave it out for plain Git`);
  const demo = await setUp();
  try {
    await (once ? demoOnce(demo) : demoUntilStopped(demo));
  } finally {
    await removeEverything(demo);
  }
};

/** Also runs after a failure. Without their branches the environments are removed. */
const removeEverything = async (demo: Demo): Promise<void> => {
  await deleteBranches(demo);
  await untilGone(demo.ephd);
  await demo.ephd[Symbol.asyncDispose]();
  rmSync(demo.folder, { recursive: true, force: true });
};

try {
  await main();
  process.exit(0);
} catch (error) {
  process.stderr.write(`demo: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
