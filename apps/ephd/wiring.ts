import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { homedir, hostname } from 'node:os';
import { basename, join } from 'node:path';
import { createGitForge, type GitForge } from '@eph/adapters/forge-git/git-forge';
import { createOciRegistry } from '@eph/adapters/registry-oci/oci-registry';
import { createKubernetesRenderer } from '@eph/adapters/render-kubernetes/kubernetes-renderer';
import { lockDataFolder } from '@eph/adapters/store-sql/data-folder-lock';
import { createSqlStore } from '@eph/adapters/store-sql/store';
import {
  apiTokenFile,
  type EnvironmentId,
  type EnvironmentName,
  EphError,
  type Isolation,
  type ProviderName,
  projectId,
  shippedSections,
} from '@eph/contract';
import { createOpenApi } from '@eph/contract/open-api';
import { gitBranchGenerator, gitTagGenerator } from '@eph/engine/desired/git-ref-triggers';
import { autoGenerator, prCommentGenerator, prLabelGenerator } from '@eph/engine/desired/pull-triggers';
import { ImageResolver } from '@eph/engine/images/image-resolver';
import { Engine } from '@eph/engine/loop/engine';
import type { EnvironmentRecord } from '@eph/engine/loop/record';
import { guardDeletions } from '@eph/engine/plan/guard';
import { Configuration } from '@eph/engine/source/configuration';
import { ConfigurationReader } from '@eph/engine/source/read-configuration';
import { systemClock } from '@eph/engine/time/system-clock';
import { createGateway } from '@eph/gateway';
import type { Logger } from 'pino';
import { startAccess } from './access/access.ts';
import { createAccessHandlers } from './access/access-handlers.ts';
import { backgroundClock } from './access/background-clock.ts';
import { Sessions } from './access/sessions.ts';
import { ApiToken } from './api/api-token.ts';
import type { AuditOptions } from './api/audit.ts';
import { administrator } from './api/authenticate.ts';
import { createNetworks } from './api/client-address.ts';
import { Connections } from './api/connections.ts';
import { createApi } from './api/create-api.ts';
import type { Caller } from './api/handlers.ts';
import { listen } from './api/listen.ts';
import { LongUses } from './api/long-use.ts';
import { createOriginRules, listenedUrl } from './api/origin.ts';
import { RateLimits } from './api/rate-limits.ts';
import { type Config, type Environment, findRetiredProviders, folderOfProvider } from './config.ts';
import { createConfigurationHandlers } from './configuration/configuration-handlers.ts';
import { prepareDataFolder } from './data-folder.ts';
import { createEnvironmentHandlers } from './environments/environment-handlers.ts';
import { computeHeadline } from './environments/environment-view.ts';
import { findEnvironment } from './environments/find-environment.ts';
import { Forges } from './forges.ts';
import { createHealthHandlers } from './health/health-handlers.ts';
import { createHistoryHandlers } from './history/history-handlers.ts';
import { StatusChanges } from './history/status-changes.ts';
import { createHookHandlers } from './hooks.ts';
import { createKubeMetrics } from './kube-metrics.ts';
import { Leadership } from './leadership.ts';
import { createAuditLog } from './log.ts';
import { Organisations } from './organisations.ts';
import ephd from './package.json' with { type: 'json' };
import { page } from './page/page.ts';
import { createProjectHandlers } from './projects/project-handlers.ts';
import { Projects } from './projects.ts';
import type { RetiredSettings } from './provider-types/provider-type.ts';
import { pullSecretsOf } from './pull-secrets.ts';
import { EnvironmentRequests } from './requests/environment-requests.ts';
import { createRequestHandlers } from './requests/request-handlers.ts';
import { StopPoller } from './requests/stop-poller.ts';
import { RouteTable } from './route-table.ts';
import { readServerKey } from './server-key.ts';
import { everyInterval, StallWatch } from './stall-watch.ts';
import { createMetrics } from './telemetry.ts';
import { createWebhookRoutes } from './webhooks/webhook-routes.ts';

export interface Ephd extends AsyncDisposable {
  readonly apiUrl: string;
  readonly tokenFile: string;
  /** Signs a browser in as the administrator, once. */
  readonly createLink: () => string;
  readonly gatewayPort: number;
  /** Undefined where no webhooks are asked for. */
  readonly webhookPort: number | undefined;
  readonly isolation: ReadonlyMap<ProviderName, Isolation>;
}

/** Puts the whole daemon together and starts it. */
export const startEphd = async (config: Config, environment: Environment, log: Logger): Promise<Ephd> => {
  await using stack = new AsyncDisposableStack();
  prepareDataFolder(config.dataFolder, log);
  // Two containers may share a host name and a pid; two holders with one name would share the lease.
  const holder = `${hostname()}:${process.pid}:${randomBytes(4).toString('hex')}`;
  stack.use(lockDataFolder(config.dataFolder, holder));
  const serverKey = readServerKey(config.dataFolder);
  const store = stack.use(
    createSqlStore({
      location:
        config.databaseUrl === undefined
          ? { sqlite: join(config.dataFolder, 'history.sqlite') }
          : { postgres: config.databaseUrl },
      clock: systemClock,
      log,
    }),
  );

  const forges = stack.use(new Forges({ dataFolder: config.dataFolder, environment, links: config.links, log }));
  const reader = createConfigurationReader(config, (options) => stack.use(createGitForge({ ...options, environment, log })));
  const configuration = new Configuration({
    documents: config.configuration.documents,
    policy: config.policy,
    reader,
  });
  const access = stack.use(
    await startAccess({
      dataFolder: config.dataFolder,
      keys: config.access.keys?.value,
      rules: config.access.rules,
      reader,
      database: config.databaseUrl === undefined ? undefined : store.revocations,
      labelsOf: (id) => projects.all.get(id)?.labels,
      clock: backgroundClock,
      log,
    }),
  );
  const registry = stack.use(
    createOciRegistry({
      registries: config.registries,
      credentialsFile: config.registryCredentials,
      readPullSecrets: pullSecretsOf((provider) => providers.get(provider)),
      environment,
      clock: systemClock,
      random: Math.random,
      log,
    }),
  );
  const resolver = stack.use(
    new ImageResolver({
      registry,
      readNote: ({ project, commit }, notes, asOf, signal) => forges.get(project).forge.readNote(commit, notes, signal, asOf),
      now: () => systemClock.now(),
      times: config.images,
    }),
  );
  const renderer = stack.use(
    createKubernetesRenderer({
      folder: join(config.dataFolder, 'render'),
      searchPath: environment['PATH'] ?? '',
      exportTree: (project, commit, folder, signal) => forges.get(project).forge.exportTree(commit, folder, signal),
      clock: systemClock,
    }),
  );
  const sessions = stack.use(new Sessions(backgroundClock));
  let engine: Engine | undefined;
  const projects = new Projects({ forges, reader, engine: () => engine, log });
  const organisations = stack.use(
    new Organisations({
      organisations: config.organisations,
      projects: config.projects,
      clock: systemClock,
      log,
      read: (forge, owner, signal) => forges.readRepositories(forge, owner, signal),
      onChange: (all) => projects.set(all),
    }),
  );
  await projects.set(await organisations.start());
  const routes = new RouteTable(projects.all);
  const statuses = new StatusChanges();
  const stalls = stack.use(new StallWatch({ now: () => performance.now(), every: everyInterval, log }));
  const metrics = createMetrics(
    log,
    () => engine,
    store.events,
    stalls,
    () => forges.budgets(),
  );
  const kubeObserver = createKubeMetrics(metrics.registry);
  const gateway = stack.use(
    await createGateway({ routes, port: config.gateway.port, domain: config.gateway.domain, onRequest: metrics.requestServed }),
  );
  const urlOf = (name: string): string => `http://${name}.${config.gateway.domain}:${gateway.port}`;
  const retired = findRetiredProviders(config);
  const retiredNames = new Set(retired.map(({ name }) => name));
  for (const { name, settings } of retired)
    log.warn(
      { provider: name, folder: folderOfProvider(config.dataFolder, name) },
      `provider ${name} is not configured any more and still holds environments: put \`${name}: ${printSettings(settings)}\` back under \`providers\`, or release them with \`eph release <environment>\``,
    );
  const providers = new Map(
    [...config.providers, ...retired].map(({ name, create }) => {
      const folder = folderOfProvider(config.dataFolder, name);
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const provider = create({
        name,
        folder,
        isRetired: retiredNames.has(name),
        variables: environment,
        exportTree: (project, commit, folder, signal) => forges.get(project).forge.exportTree(commit, folder, signal),
        secretOf: (project, variable) => projects.all.get(project)?.variables[variable]?.value,
        // Known before any service is started, since the gateway listens.
        urlOf: (identity) => urlOf(identity.name),
        observer: kubeObserver,
        log,
      });
      return [name, stack.use(provider)];
    }),
  );
  for (const { name, isolation } of providers.values())
    for (const what of describeRefusals(isolation)) log.warn({ provider: name }, `provider ${name} ${what}`);
  const createEngine = (): Engine =>
    new Engine({
      projects: projects.forEngine(),
      configuration,
      providers,
      retired: retiredNames,
      sections: shippedSections,
      generators: [gitBranchGenerator, gitTagGenerator, prLabelGenerator, prCommentGenerator, autoGenerator],
      renderer,
      resolver,
      clock: systemClock,
      random: Math.random,
      workers: config.workers,
      telemetry: metrics.telemetry,
      serverKey,
      urlOf,
      ownerOf: (label) => routes.ownerOf(label),
      aliasesOf: (id) => [routes.aliasOf(id) ?? []].flat(),
      deletionBound: config.deletionBound,
      guard: guardDeletions,
      record: (event) => store.events.append(event),
      deliver: (report, signal) => forges.get(report.project).reporter.ensure(report, signal),
      answer: async (answer, signal) => await forges.get(answer.project).reporter.answer?.(answer, signal),
      changed(id) {
        const known = engine?.environment(id);
        if (known === undefined) {
          routes.remove(id);
          statuses.remove(id);
        } else {
          routes.update(known);
          statuses.update(known, computeHeadline(known, addresses.away()));
        }
      },
    });
  const leadership = new Leadership(
    () => {
      log.info({ holder }, 'this ephd reconciles');
      engine = createEngine();
      engine.start();
    },
    async () => {
      log.info({ holder }, 'this ephd does not reconcile any more');
      const former = engine;
      engine = undefined;
      routes.clear();
      statuses.clear();
      await former?.close();
    },
  );
  const leadingEngine = (): Engine => {
    if (engine !== undefined) return engine;
    const { state } = leadership;
    throw new EphError(
      'api.standby',
      state.state === 'standby' ? `this ephd stands by; ${state.holder} leads` : 'this ephd does not lead yet',
    );
  };

  const addresses = {
    urlOf,
    aliasOf: ({ id }: EnvironmentRecord) => routes.aliasOf(id),
    away: () => engine?.away() ?? new Set<ProviderName>(),
  };
  const stopping = new AbortController();
  const requests = new EnvironmentRequests({
    projects: forges.all,
    consider: (source, signal) => leadingEngine().consider(source, signal),
    considerLifetime: (source, signal) => leadingEngine().considerLifetime(source, signal),
    now: () => systemClock.now(),
    wake: (id) => engine?.wakeProject(id),
    log,
  });
  const activeProjects = () => new Set(engine?.environments().map(({ project }) => project));
  const audit: AuditOptions = {
    record: (event) => store.events.append(event),
    now: () => systemClock.now(),
    auditLog: createAuditLog(log),
  };
  const nameOf = (id: EnvironmentId): EnvironmentName | undefined => engine?.environment(id)?.name;
  stack.use(new StopPoller({ projects: forges.all, activeProjects, requests, nameOf, audit, clock: systemClock, log }));
  const configuredProviders = () => [...providers.values()].filter(({ name }) => !retiredNames.has(name));
  const find = (text: string, caller: Pick<Caller, 'may'>): EnvironmentRecord => {
    const knowsProjects = organisations.unread.length === 0;
    return findEnvironment(text, { engine: leadingEngine(), ownerOf: (label) => routes.ownerOf(label), knowsProjects }, caller);
  };
  const token = new ApiToken();
  const openApi = createOpenApi(ephd.version);
  const connections = new Connections();
  const api = createApi({
    handlers: {
      ...createEnvironmentHandlers({
        engine: leadingEngine,
        clock: systemClock,
        ...addresses,
        providerOf: (name) => providers.get(name),
      }),
      ...createProjectHandlers({ engine: leadingEngine, projects: projects.all, providers: configuredProviders }),
      ...createRequestHandlers(requests, (...asked) => leadingEngine().planSource(...asked), projects.all),
      ...createHistoryHandlers({
        events: store.events,
        projects: projects.all,
        find,
        projectOf: (id) => engine?.environment(id)?.project,
        statuses,
      }),
      ...createAccessHandlers({
        access,
        sessions,
        events: store.events,
        now: () => systemClock.now(),
        url: () => apiUrl(),
        find,
        projects: projects.all,
      }),
      ...createConfigurationHandlers({
        policy: config.policy,
        providers: configuredProviders(),
        configurationOf(name, caller) {
          const project = projects.all.values().find(({ id }) => id === name && caller.may('environments.read', id));
          return project && configuration.layersFor(project.repository, project.id);
        },
      }),
      ...createHealthHandlers({
        leadership,
        engine: () => engine,
        events: store.events,
        providers,
        budgets: () => forges.budgets(),
        projects: projects.all,
        registry: metrics.registry,
        version: ephd.version,
      }),
      ...createHookHandlers(leadingEngine, projects.all),
      readOpenApi: () => openApi,
      readPage: () => page,
    },
    projects: projects.all,
    find,
    access,
    sessions,
    ...audit,
    token,
    origins: createOriginRules(config.api),
    proxies: createNetworks(config.api.trustedProxies),
    limits: new RateLimits(() => systemClock.now()),
    uses: new LongUses(),
    connections,
    closing: stopping.signal,
    clock: backgroundClock,
    log,
  });
  let webhookPort: number | undefined;
  if (config.webhooks !== undefined) {
    const webhooks = createWebhookRoutes({
      forgeOf(name) {
        const used = [...config.projects, ...config.organisations].find(({ forge }) => forge?.name === name);
        return used?.forge && { type: used.forge.type, secret: used.forge.webhookSecret?.value };
      },
      projectOf: (forge, name) =>
        projects.all.values().find((one) => one.forge?.name === forge && one.location.toLowerCase() === name.toLowerCase())?.id,
      // A forge gives up on an address that refuses too often, so one that stands by says nothing.
      wake: (id) => engine?.announce(id),
      registries: [...config.registries].flatMap(([host, { webhookSecret }]) =>
        webhookSecret === undefined ? [] : [{ host, secret: webhookSecret.value }],
      ),
      wakeWaiting(repository) {
        resolver.forget(repository);
        engine?.announceImages(repository);
      },
      wakeOrganisations: () => organisations.wake(),
      now: Date.now,
      log,
    });
    const listener = stack.use(
      await listen({ ...config.webhooks, fetch: webhooks.fetch, connections: new Connections(), clock: backgroundClock, log }),
    );
    webhookPort = listener.port;
  }
  const listener = stack.use(
    await listen({ ...config.api, fetch: api.fetch, connections, clock: backgroundClock, log, hasWebSockets: true }),
  );
  const apiUrl = (): string => config.api.url ?? listenedUrl(config.api, listener.port);
  // Not before the port is ours: another ephd may use the file.
  const home = environment['HOME'] || homedir();
  const tokenFile = apiTokenFile({ ...environment, HOME: home }, listener.port) ?? '';
  stack.use(token.write(tokenFile));
  stack.defer(() => leadership.close());
  if (config.databaseUrl === undefined) leadership.take();
  else {
    const holding = leadership.hold(store.lease, holder, stopping.signal);
    stack.defer(() => holding);
  }
  stack.defer(() => stopping.abort(new EphError('api.stopping', 'ephd is stopping')));
  const all = stack.move();
  return {
    apiUrl: apiUrl(),
    tokenFile,
    createLink: () => sessions.createLink(administrator, apiUrl()).url,
    gatewayPort: gateway.port,
    webhookPort,
    isolation: new Map(Array.from(providers, ([name, { isolation }]) => [name, isolation])),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
};

/** The configuration repository is read in the same way as a project; nothing of it is ever run. */
const createConfigurationReader = (
  { configuration: { repository }, dataFolder }: Config,
  createForge: (options: Pick<Parameters<typeof createGitForge>[0], 'project' | 'location' | 'folder'>) => GitForge,
): ConfigurationReader | undefined => {
  if (repository === undefined) return undefined;
  const { location, branch, environment } = repository;
  const folder = join(dataFolder, 'configuration');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const forge = createForge({ project: projectId('configuration'), location, folder });
  return new ConfigurationReader({ forge, name: basename(location), branch, environment });
};

/** As the file would have them. */
const printSettings = (settings: RetiredSettings): string => {
  const entries = Object.entries(settings).map(
    ([key, value]) => `${key}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return `{ ${entries.join(', ')} }`;
};

const describeRefusals = (isolation: Isolation): readonly string[] => {
  if (isolation.state === 'trusted')
    return [
      `has no sandbox: ${isolation.because}; it runs no forks, and of the projects in the file only those with \`trusted: true\``,
    ];
  const { network, limits } = isolation.lacks;
  return [
    ...(network === undefined ? [] : [`runs no forks, which need a network of their own: ${network}`]),
    ...(limits === undefined ? [] : [`runs no forks and limits neither processor, memory nor processes: ${limits}`]),
  ];
};
