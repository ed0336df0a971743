import { readFileSync } from 'node:fs';
import { type EnvironmentView, environmentListSchema } from '@eph/contract';
import { type Config, defaultImages, defaultProviders } from '../config.ts';
import { createLog } from '../log.ts';
import { type Ephd, startEphd } from '../wiring.ts';

const timeoutMs = 60_000;

export const print = (text: string): void => void process.stdout.write(`${text}\n`);

export const until = async <T>(what: string, ask: () => Promise<T | undefined>): Promise<T> => {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (Date.now() > deadline) throw new Error(`${what} took more than ${timeoutMs / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
};

/** An ephd with SQLite on free ports. */
export const startDemoEphd = (
  config: Pick<Config, 'dataFolder' | 'webhooks' | 'configuration' | 'projects'> &
    Partial<Pick<Config, 'providers' | 'registries'>>,
): ReturnType<typeof startEphd> =>
  startEphd(
    {
      api: { host: '127.0.0.1', port: 0, tls: undefined, url: undefined, allowedOrigins: [], trustedProxies: [] },
      gateway: { port: 0, domain: 'localhost' },
      databaseUrl: undefined,
      access: { keys: undefined, rules: [] },
      workers: 4,
      links: {},
      deletionBound: { atLeast: 5, share: 0.2 },
      logLevel: 'silent',
      policy: undefined,
      providers: defaultProviders,
      organisations: [],
      registries: new Map(),
      registryCredentials: undefined,
      images: defaultImages,
      ...config,
    },
    process.env,
    createLog('silent'),
  );

export const readEnvironments = async ({ apiUrl, tokenFile }: Ephd): Promise<readonly EnvironmentView[]> => {
  const authorization = `Bearer ${readFileSync(tokenFile, 'utf8').trim()}`;
  const response = await fetch(`${apiUrl}/api/v1/environments?limit=1000`, { headers: { authorization } });
  return environmentListSchema.parse(await response.json()).environments;
};

export const untilReady = (ephd: Ephd, commit: string): Promise<EnvironmentView> =>
  until('getting ready', async () => {
    const environment = (await readEnvironments(ephd)).find((one) => one.commit === commit);
    const entry = environment?.components.find((component) => component.entry);
    return environment?.phase === 'Ready' && entry?.current?.commit === commit ? environment : undefined;
  });

export const untilGone = (ephd: Ephd): Promise<true> =>
  until('removal', async () => ((await readEnvironments(ephd)).length === 0 ? true : undefined));

export const untilStopped = (): Promise<void> =>
  new Promise((resolve) => {
    process.once('SIGINT', resolve);
    process.once('SIGTERM', resolve);
  });

export class Steps {
  readonly #times: [step: string, time: string][] = [];

  async time<T>(step: string, work: () => Promise<T>): Promise<T> {
    const start = performance.now();
    const result = await work();
    this.#times.push([step, `${((performance.now() - start) / 1000).toFixed(2)} s`]);
    print(`  ${step}`);
    return result;
  }

  print(): void {
    const width = Math.max(...this.#times.map(([step]) => step.length));
    print(`\n${'step'.padEnd(width)}  time\n${'-'.repeat(width)}  ------`);
    for (const [step, time] of this.#times) print(`${step.padEnd(width)}  ${time}`);
  }
}
