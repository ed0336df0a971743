import type { Files } from './sample-repository.ts';

/** Programs in every commit; services run them with the Node that runs the test. */
const programs = {
  /**
   * Answers every request with its own commit, ref and environment, as JSON. `/forwarded` calls the service at `API`, `/say/…` writes
   * to the log.
   */
  'answer.mjs': `
    import { createServer } from 'node:http';
    const { EPH_COMMIT: commit, EPH_REF: ref, EPH_ENVIRONMENT: environment, API, GREETING } = process.env;
    console.log('answering for ' + commit);
    createServer(async (request, response) => {
      if (request.url.startsWith('/say/')) console.log(request.url.slice(5));
      const own = { pid: process.pid, commit, ref, environment, greeting: GREETING };
      const api = request.url === '/forwarded' && API ? await fetch(API).then((answer) => answer.json()) : undefined;
      response.end(JSON.stringify({ ...own, api }));
    }).listen(Number(process.env.PORT), '127.0.0.1');
  `,
  /** Runs and does nothing. */
  'idle.mjs': `
    console.log('idle');
    setInterval(() => undefined, 1_000_000);
  `,
};

export type Services = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

export const run = (program: keyof typeof programs): string[] => [process.execPath, program];

/** `eph.yaml` as JSON, which is YAML. */
export const spec = (services: Services, rest: Readonly<Record<string, unknown>> = {}, prepare?: string): string =>
  JSON.stringify({ version: '1.0', name: 'shop', ...rest, process: { ...(prepare && { prepare }), services } });

/** One service that answers over HTTP. */
export const oneService: Services = { web: { command: run('answer.mjs'), ready: { http: '/' } } };

/** Two services; the entry reaches the other through a reference. */
export const twoServices: Services = {
  web: { command: run('answer.mjs'), entry: true, env: { API: 'outputs/api/url' } },
  api: { command: run('answer.mjs') },
};

/** A service without a port: it is ready as soon as it runs. */
export const worker: Services = { worker: { command: ['sleep', '100000'], ready: { none: true } } };

/** Fails in a checkout in which it was cut off. */
const prepare = 'test ! -e begun && touch begun && sleep 0.3 && touch prepared';

/** Two services that start only in a prepared checkout. */
export const preparedServices: Services = {
  web: { command: `test -e prepared && exec ${run('answer.mjs').join(' ')}`, entry: true, env: { API: 'outputs/api/url' } },
  api: { command: `test -e prepared && exec ${run('answer.mjs').join(' ')}` },
};

/** All the files of a commit. */
export const app = (services: Services = oneService, more: Files = {}): Files => ({
  ...programs,
  'eph.yaml': spec(services, {}, services === preparedServices ? prepare : undefined),
  ...more,
});
